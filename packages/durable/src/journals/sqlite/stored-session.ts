/** What the file has of one session. */

import { isCorrupt, type SqliteRow } from "#core/server/sqlite/database.js";
import { damagedEntry, type JournalEntry, type JournalRecord } from "../journal.js";
import { CELLS, decodeHead, type StoredCell, sumOfCells, sumOfEntry } from "./session-head.js";
import type { Statements } from "./statements.js";

export interface Stored {
  readonly k: number;
  readonly entry: JournalEntry;
}

/** The key of a session whose entry cannot be read. */
const UNREADABLE = -1;
const NO_BYTES = new Uint8Array();

/** A session whose entry cannot be read has ended. */
export function find(sql: Statements, id: string): Stored | undefined {
  try {
    const row = sql.find.get(id);
    return row ? { k: row["k"] as number, entry: decodeEntry(row) } : undefined;
  } catch (error) {
    if (isCorrupt(error)) return { k: UNREADABLE, entry: damagedEntry(id) };
    throw error;
  }
}

export function decodeEntry(row: SqliteRow): JournalEntry {
  const { id, token, epoch, owner, ended, reason, sum } = row;
  const end = ended === null ? null : { at: ended, reason };
  const entry = { id, tokenHash: token, epoch, owner, ended: end } as JournalEntry;
  return sum === sumOfEntry(entry) ? entry : damagedEntry(String(id));
}

export function putEntry(sql: Statements, k: number, entry: JournalEntry): void {
  const { id, tokenHash, epoch, owner, ended } = entry;
  const sum = sumOfEntry({ id, tokenHash, epoch, owner, ended });
  sql.putEntry.run(k, id, tokenHash, epoch, owner, ended?.at ?? null, ended?.reason ?? null, sum);
}

export function readRecord(sql: Statements, { k, entry }: Stored): JournalRecord {
  try {
    const others = new Map(readCells(sql, k).map(({ name, value }) => [name, value]));
    if (entry.ended !== null) return { ...entry, cells: others };
    const head = readHead(sql, entry.id, k);
    const cells = new Map([...others, ...(head?.cells ?? [])]);
    return { ...entry, cells, isDamaged: head?.sum !== sumOfCells(others) };
  } catch (error) {
    if (isCorrupt(error)) return { ...entry, cells: new Map(), isDamaged: true };
    throw error;
  }
}

export function readHead(sql: Statements, id: string, k: number): ReturnType<typeof decodeHead> {
  const value = sql.head.get(k)?.["head"];
  return value instanceof Uint8Array ? decodeHead(id, value) : undefined;
}

/** The cells that are not in the head. */
export function readCells(sql: Statements, k: number): StoredCell[] {
  return sql.cells.all(k * CELLS, (k + 1) * CELLS).map(({ n, name, value }) => ({
    n: n as number,
    name: String(name),
    // Another type is damage, and changes the sum.
    value: value instanceof Uint8Array ? value : NO_BYTES,
  }));
}
