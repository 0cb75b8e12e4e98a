import { appendFileSync, existsSync, statSync } from "node:fs";
import type { RootDatabase } from "lmdb";
import { checkPages, readState } from "./lmdb-pages.js";

type Pages = Pick<RootDatabase<Uint8Array>, "getStats" | "useReadTransaction">;

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
