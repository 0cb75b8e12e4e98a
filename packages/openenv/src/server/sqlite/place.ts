/** Where a file of SQLite may be. */
import { closeSync, lstatSync, openSync, statfsSync } from "node:fs";

/** Files have the contents of sessions. */
export const FILE_MODE = 0o600;
const IF_THERE = { throwIfNoEntry: false } as const;
/** File systems without the locks or the shared memory of one machine, by the numbers of Linux. */
const REMOTE: Record<number, string> = {
  26985: "NFS",
  20859: "SMB",
  4283649346: "SMB",
  4266872130: "SMB",
  16914839: "9p",
  1702057286: "FUSE or virtiofs",
  12805120: "Ceph",
  198183888: "Lustre",
};

/** SQLite would follow a link, and trust what another user has put there. */
export function checkFiles(path: string, suffixes: readonly string[], user?: number): void {
  for (const suffix of suffixes) {
    const stats = lstatSync(path + suffix, IF_THERE);
    if (stats === undefined) continue;
    const name = suffix === "" ? "it" : `its file ${path}${suffix}`;
    if (!stats.isFile()) throw new Error(`${name} is not a regular file`);
    if (user !== undefined && stats.uid !== user) throw new Error(`${name} belongs to another user`);
  }
}

/** `what`: is in the folder. `type`: of the file system, as Linux numbers it. @throws Error when it may be remote. */
export function checkFileSystem(folder: string, what: string, type = statfsSync(folder).type): void {
  const found = REMOTE[type];
  if (found === undefined) return;
  const why = `its file system (${found}) may not have the locks of a local one`;
  if (process.env["OPENENV_ANY_FILE_SYSTEM"] === "1") return process.emitWarning(`The ${what} in ${folder}: ${why}`);
  throw new Error(`${why}. Move it to a local disk, or set OPENENV_ANY_FILE_SYSTEM=1 if one machine alone uses it`);
}

/** An empty file is one of SQLite, and the others that it makes get the same mode. */
export function createFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", FILE_MODE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
