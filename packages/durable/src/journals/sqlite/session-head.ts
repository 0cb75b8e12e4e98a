/**
 * The head of a session in a file: the checksums of its cells, because SQLite has none, and its small cells that were
 * written over, so that a step is one write.
 */
import { crc32 } from "node:zlib";
import type { JournalChanges, JournalEntry } from "../journal.js";

/** The number of cells that a session may have numbers for. Keys and numbers are safe integers. */
export const CELLS = 2 ** 20;
const CRC_BYTES = 4;
/** The head's own checksum, and the sum of those of the other cells. */
const START = 2 * CRC_BYTES;
/** The lengths of the name and of the value. */
const LENGTHS = 8;
/** Each commit writes the whole head, and a page has the heads of several sessions. */
const MAX_HEAD_BYTES = 1_600;
/** A statement copies from here when it runs. */
const scratch = Buffer.alloc(MAX_HEAD_BYTES);

type Cells = ReadonlyMap<string, Uint8Array>;

interface StoredHead {
  sum: number;
  cells: Cells;
}

/** A cell that is not in the head: its number is its key. */
export interface StoredCell {
  readonly n: number;
  readonly name: string;
  readonly value: Uint8Array;
}

/** What a commit changes. The head is valid until the next call. */
interface HeadChanges {
  head: Uint8Array;
  put: StoredCell[];
  /** The numbers of cells. */
  remove: number[];
}

/** What this process knows of the cells of one of its sessions. */
export class SessionHead {
  readonly k: number;
  readonly epoch: number;
  readonly #idSum: number;
  /** The cells that are not in the head. */
  readonly #others = new Map<string, { n: number; sum: number }>();
  #sum = 0;
  /** The number of the next one, after the key. */
  #next = 0;
  /** The names of the cells in the head. */
  #inside: string[] = [];
  /** The stored head is damaged: so is the next one. */
  #isDamaged = false;

  constructor(id: string, k: number, epoch: number) {
    this.k = k;
    this.epoch = epoch;
    this.#idSum = crc32(id);
  }

  /** Continues what the file has: a sum that is wrong there stays wrong. */
  restore(others: readonly StoredCell[], stored: StoredHead | undefined): this {
    for (const { n, name, value } of others) {
      this.#others.set(name, { n, sum: sumOf(name, value) });
      this.#next = n + 1 - this.k * CELLS;
    }
    this.#sum = stored?.sum ?? 0;
    this.#inside = [...(stored?.cells.keys() ?? [])];
    this.#isDamaged = stored === undefined;
    return this;
  }

  /** `read` returns the cells in the stored head. */
  change({ put, remove }: JournalChanges, read: () => Cells): HeadChanges {
    const before = this.#inside;
    const inside: string[] = [];
    let end = START;
    let stored: Cells | undefined;
    for (const name of before) {
      if (remove.includes(name) || hasCell(put, name)) continue;
      stored ??= read();
      inside.push(name);
      end = encodeCell(name, stored.get(name) ?? new Uint8Array(), end);
    }
    const [outside, gone]: [StoredCell[], number[]] = [[], []];
    for (const name of remove) {
      const n = this.#forget(name);
      if (n !== undefined) gone.push(n);
    }
    for (const [name, value] of put) {
      const n = this.#forget(name);
      const isKnown = n !== undefined || before.includes(name);
      if (isKnown && end + sizeOf(name, value) <= MAX_HEAD_BYTES) {
        inside.push(name);
        end = encodeCell(name, value, end);
        if (n !== undefined) gone.push(n);
      } else {
        outside.push(this.#remember(n ?? this.#nextNumber(), name, value));
      }
    }
    this.#inside = inside;
    return { put: outside, remove: gone, head: this.#seal(end) };
  }

  #nextNumber(): number {
    if (this.#others.size === 0) this.#next = 0;
    if (this.#next >= CELLS) throw new Error("the session has too many cells");
    return this.k * CELLS + this.#next++;
  }

  #remember(n: number, name: string, value: Uint8Array): StoredCell {
    const sum = sumOf(name, value);
    this.#others.set(name, { n, sum });
    this.#sum = (this.#sum + sum) >>> 0;
    return { n, name, value };
  }

  /** Returns its number, if it was not in the head. */
  #forget(name: string): number | undefined {
    const found = this.#others.get(name);
    if (found === undefined) return undefined;
    this.#others.delete(name);
    this.#sum = (this.#sum - found.sum) >>> 0;
    return found.n;
  }

  /** Adds the checksums to the cells that are encoded until `end`. */
  #seal(end: number): Uint8Array {
    scratch.writeUInt32LE(this.#sum, CRC_BYTES);
    const sum = crc32(scratch.subarray(CRC_BYTES, end), this.#idSum);
    scratch.writeUInt32LE(this.#isDamaged ? ~sum >>> 0 : sum);
    return scratch.subarray(0, end);
  }
}

function hasCell(put: JournalChanges["put"], name: string): boolean {
  for (const [other] of put) if (other === name) return true;
  return false;
}

/** Returns where it ends. */
function encodeCell(name: string, value: Uint8Array, at: number): number {
  const length = scratch.write(name, at + LENGTHS);
  scratch.writeUInt32LE(length, at);
  scratch.writeUInt32LE(value.length, at + 4);
  scratch.set(value, at + LENGTHS + length);
  return at + LENGTHS + length + value.length;
}

/** Undefined when it is missing or damaged. The cells are copies. */
export function decodeHead(id: string, value: Uint8Array | undefined): StoredHead | undefined {
  if (value === undefined || value.length < START) return undefined;
  const bytes = Buffer.from(value);
  if (bytes.readUInt32LE() !== crc32(bytes.subarray(CRC_BYTES), crc32(id))) return undefined;
  const cells = new Map<string, Uint8Array>();
  for (let at = START; at < bytes.length; ) {
    const nameEnd = at + LENGTHS + bytes.readUInt32LE(at);
    const end = nameEnd + bytes.readUInt32LE(at + 4);
    cells.set(bytes.toString("utf8", at + LENGTHS, nameEnd), Uint8Array.from(bytes.subarray(nameEnd, end)));
    at = end;
  }
  return { sum: bytes.readUInt32LE(CRC_BYTES), cells };
}

/** The checksum of the cells that are not in the head. */
export function sumOfCells(cells: Cells): number {
  let sum = 0;
  for (const [name, value] of cells) sum = (sum + sumOf(name, value)) >>> 0;
  return sum;
}

function sumOf(name: string, value: Uint8Array): number {
  // For an empty array without memory, Node returns 0 instead of the sum before it.
  return value.length === 0 ? crc32(name) : crc32(value, crc32(name));
}

function sizeOf(name: string, value: Uint8Array): number {
  return LENGTHS + Buffer.byteLength(name) + value.length;
}

/** An entry has its own checksum, because it is read without the cells. */
export function sumOfEntry(entry: JournalEntry): number {
  return crc32(JSON.stringify(entry), crc32(entry.id));
}
