import { closeSync, openSync, readSync } from "node:fs";

const HEADER = "SQLite format 3\0";

/** True if a new file with this name is one of SQLite; any other is one of LMDB. */
export function isSqlite(path: string): boolean {
  return path.endsWith(".db");
}

/** Call this only in a process that does not have the file open: see `sqlite-open.ts`. @throws when it cannot be opened. */
export function hasSqliteHeader(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(HEADER.length);
    return readSync(file, bytes, 0, HEADER.length, 0) === HEADER.length && bytes.toString("latin1") === HEADER;
  } finally {
    closeSync(file);
  }
}
