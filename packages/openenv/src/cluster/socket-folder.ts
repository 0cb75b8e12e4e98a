import { randomBytes } from "node:crypto";
import { mkdirSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../errors.js";

/** In memory, and writable in a container with a read-only file system (`docker run --read-only`). */
const SHARED_MEMORY = "/dev/shm";

/**
 * Chooses a folder for the sockets of the workers, in the first writable place; it is not created yet.
 * @throws ConfigError when no place is writable.
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
    `Workers need a folder for their sockets, but neither ${places.join(" nor ")} is writable ` +
      `(${(problem as Error).message}): set TMPDIR to a writable folder, in a container use --tmpfs /tmp.`,
    { cause: problem },
  );
}
