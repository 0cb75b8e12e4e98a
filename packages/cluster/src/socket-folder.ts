import { randomBytes } from "node:crypto";
import { mkdirSync, rmdirSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "#core/errors.js";

/** A folder in memory that is writable in a container with a read-only file system (`docker run --read-only`). */
const SHARED_MEMORY = "/dev/shm";
const PLACES: readonly string[] = [tmpdir(), SHARED_MEMORY];
const NAME = /^openenv-[0-9a-f]{12}$/;

/**
 * Chooses a folder for the sockets of the workers, in the first writable place; it is not created yet.
 * @throws ConfigError when no place is writable.
 */
export function chooseFolder(places: readonly string[] = PLACES): string {
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

/**
 * Removes the folders of this user whose servers ended without doing it, which only happens when all processes of a server
 * are killed at once. A folder stays if it has no socket yet, or a socket that a process still listens to.
 */
export async function removeLeftFolders(places: readonly string[] = PLACES): Promise<void> {
  for (const place of places) {
    const names = await readdir(place).catch(() => []);
    const folders = names.filter((name) => NAME.test(name)).map((name) => join(place, name));
    await Promise.all(folders.map(removeIfLeft));
  }
}

async function removeIfLeft(folder: string): Promise<void> {
  try {
    if ((await stat(folder)).uid !== process.getuid?.()) return;
    const sockets = (await readdir(folder)).filter((name) => name.endsWith(".sock"));
    const isLeft = await Promise.all(sockets.map((name) => isUnused(join(folder, name))));
    if (sockets.length > 0 && isLeft.every(Boolean)) await rm(folder, { recursive: true, force: true });
  } catch {
    // Another server removes it at the same time.
  }
}

/** True when no process listens to the socket. */
function isUnused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (isLeft: boolean): void => {
      socket.destroy();
      resolve(isLeft);
    };
    socket
      .on("connect", () => end(false))
      .on("error", ({ code }: NodeJS.ErrnoException) => end(code === "ECONNREFUSED"));
  });
}
