import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { readBootId } from "#core/server/sqlite/owner.js";
import { FILE_MODE } from "#core/server/sqlite/place.js";
import type { Durability } from "../journal.js";

/** The suffixes of the files of a journal. The mark is removed last, so that a removal that was interrupted is repeated. */
export const SUFFIXES = ["", "-wal", "-shm", "-journal", "-boot"];

/**
 * Drops a file with the durability `process` that was written before the machine restarted, because parts of it may be
 * missing. Only the first process of a server may call this.
 */
export function dropTornFile(path: string): void {
  if (!isTorn(path)) return;
  for (const suffix of SUFFIXES) rmSync(path + suffix, { force: true });
}

export function isTorn(path: string): boolean {
  const marked = readMark(path);
  return marked !== undefined && marked !== readBootId();
}

/** Notes that the file is not valid after a restart of the machine, which cannot be noticed without /proc. */
export function markBoot(path: string, durability: Durability): void {
  const boot = durability === "process" ? readBootId() : undefined;
  const file = `${path}-boot`;
  if (boot === undefined) return rmSync(file, { force: true });
  if (readMark(path) === boot) return;
  // An empty file would say that the machine has restarted, so the file is not written in place. Several processes may do this at once.
  const made = `${file}-${process.pid}`;
  writeFileSync(made, boot, { mode: FILE_MODE });
  renameSync(made, file);
}

/** Undefined for a file that was written with the durability `disk`. */
export function readMark(path: string): string | undefined {
  const file = `${path}-boot`;
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}
