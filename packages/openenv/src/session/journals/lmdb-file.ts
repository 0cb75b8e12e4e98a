import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { RootDatabase } from "lmdb";
import type { Durability } from "./journal.js";
import { checkPages, readState } from "./lmdb-pages.js";
import { readBootId } from "./owner.js";

type Pages = Pick<RootDatabase<Uint8Array>, "getStats" | "useReadTransaction">;

export const MODE = 0o600;

/**
 * Drops a file with the durability `process` that was written before the machine restarted, because parts of it may be
 * missing. Only the first process of a server may call this. Returns whether there was one.
 */
export function dropTornFile(path: string): boolean {
  if (!isTorn(path)) return false;
  for (const suffix of ["", "-lock", "-boot", "-mutex", "-mutex-lock"]) rmSync(path + suffix, { force: true });
  return true;
}

export function isTorn(path: string): boolean {
  const marked = readText(`${path}-boot`);
  return marked !== undefined && marked !== readBootId();
}

/** @throws when a file that exists cannot be opened with these flags, or is not a whole journal. */
export function checkHeader(path: string, flags = "r+"): void {
  if (existsSync(path) && statSync(path).size > 0) readState(path, flags);
}

/**
 * Call this while no process writes. Returns a check of the pages of the state that is the last one now, for later: LMDB
 * ends the process when it reads a damaged one.
 */
export function prepareCheck(db: Pages, path: string): () => void {
  // The pages of a state that is read are not used for a later one.
  const reading = db.useReadTransaction();
  const state = readState(path);
  return () => {
    try {
      checkPages(path, state);
    } finally {
      reading.done();
    }
  };
}

/**
 * Makes the file as long as LMDB says: pages that are free may never have been written, and one that is missing would
 * end the process.
 */
export function addMissing(db: Pages, path: string): void {
  const missing = missingBytes(db, path);
  // Appended, and not set to a length: another process may be writing.
  if (missing > 0) appendFileSync(path, Buffer.alloc(missing));
}

export function missingBytes(db: Pages, path: string): number {
  const { pageSize, lastPageNumber } = db.getStats() as { pageSize: number; lastPageNumber: number };
  return (lastPageNumber + 1) * pageSize - statSync(path).size;
}

/** Says that the file is only worth as much as the memory of this machine; without /proc nothing can tell. */
export function markBoot(path: string, durability: Durability): void {
  const boot = durability === "process" ? readBootId() : undefined;
  const file = `${path}-boot`;
  if (boot === undefined) return rmSync(file, { force: true });
  if (readText(file) === boot) return;
  // The file is not written in place: an empty file would say that the machine has restarted.
  writeFileSync(`${file}-new`, boot, { mode: MODE });
  renameSync(`${file}-new`, file);
}

function readText(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}
