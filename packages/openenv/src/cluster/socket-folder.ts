import { randomBytes } from "node:crypto";
import { mkdirSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../errors.js";

/** In memory, and writable in a container whose file system is not (`docker run --read-only`). */
const SHARED_MEMORY = "/dev/shm";

/**
 * The name of a folder for the sockets of the workers, in the first of these that can be written; it is not made yet.
 * @throws ConfigError where none can be made.
 */
export function chooseFolder(places: readonly string[] = [tmpdir(), SHARED_MEMORY]): string {
  let problem: unknown;
  for (const place of places) {
    const folder = join(place, `openenv-${randomBytes(6).toString("hex")}`);
    try {
      mkdirSync(folder, { mode: 0o700 });
      rmdirSync(folder);
      return folder;
    } catch (error) {
      problem ??= error;
    }
  }
  throw new ConfigError(
    `Workers need a folder for their sockets, and neither ${places.join(" nor ")} can be written ` +
      `(${(problem as Error).message}): set TMPDIR to one that can, in a container with --tmpfs /tmp.`,
    { cause: problem },
  );
}
