import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import type { RootDatabase } from "lmdb";
import type { Durability } from "./journal.js";
import { readBootId } from "./owner.js";

type Pages = Pick<RootDatabase<Uint8Array>, "close" | "getRange" | "getStats">;

export const MODE = 0o600;
/** Of LMDB's first page, little-endian. LMDB ends the process when it opens a file of another kind. */
const MAGIC = 0xbeefc0de;
const MAGIC_OFFSET = 24;

/**
 * Drops a file with the durability `process` that was written before the machine restarted, because parts of it may be
 * missing. Only the first process of a server may call this. Returns whether there was one.
 */
export function dropTornFile(path: string): boolean {
  if (!isTorn(path)) return false;
  for (const suffix of ["", "-lock", "-boot"]) rmSync(path + suffix, { force: true });
  return true;
}

export function isTorn(path: string): boolean {
  const marked = readText(`${path}-boot`);
  return marked !== undefined && marked !== readBootId();
}

export function checkHeader(path: string, flags = "r+"): void {
  if (!existsSync(path) || statSync(path).size === 0) return;
  if (!hasHeader(path, flags)) throw new Error("it is not a journal");
}

/** Whether it begins as LMDB's files do. @throws when it cannot be opened with these flags. */
export function hasHeader(path: string, flags: string): boolean {
  const file = openSync(path, flags);
  try {
    const header = Buffer.alloc(MAGIC_OFFSET + 4);
    readSync(file, header);
    return header.readUInt32LE(MAGIC_OFFSET) === MAGIC;
  } finally {
    closeSync(file);
  }
}

/**
 * A page that is missing would end the process when it is read. Pages that are free may never have been written, so the
 * file is made longer, and everything is read once.
 */
export function checkLength(db: Pages, path: string): void {
  const missing = missingBytes(db, path);
  if (missing <= 0) return;
  // Appended, and not set to a length: another process may be writing.
  appendFileSync(path, Buffer.alloc(missing));
  try {
    for (const { key } of db.getRange()) if (key === undefined) return;
  } catch (error) {
    void db.close();
    throw new Error("its end is missing; delete it to start without its sessions", { cause: error });
  }
}

export function missingBytes(db: Pages, path: string): number {
  const { pageSize, lastPageNumber } = db.getStats() as { pageSize: number; lastPageNumber: number };
  return (lastPageNumber + 1) * pageSize - statSync(path).size;
}

/** Says that the file is only worth as much as the memory of this machine; without /proc nothing can tell. */
export function markBoot(path: string, durability: Durability): void {
  const boot = durability === "process" ? readBootId() : undefined;
  if (boot !== undefined) writeFileSync(`${path}-boot`, boot, { mode: MODE });
  else rmSync(`${path}-boot`, { force: true });
}

function readText(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}
