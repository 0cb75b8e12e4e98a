/**
 * The head of a session in a file: the checksums of its cells, because SQLite has none, and its small cells that were
 * written over, so that a step is one write.
 */
import { crc32 } from "node:zlib";
import type { JournalChanges, JournalEntry } from "../journal.js";

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

/** What this process knows of the cells of one session. */
export class SessionHead {
  readonly #idSum: number;
  /** The checksums of the cells that are not in the head. */
  readonly #others = new Map<string, number>();
  #sum = 0;
  /** The names of the cells in the head. */
  #inside: string[] = [];
  /** The stored head is damaged: so is the next one. */
  #isDamaged = false;

  constructor(id: string) {
    this.#idSum = crc32(id);
  }

  /** What the file has, where another process may have written it: a sum that is wrong there stays wrong. */
  static stored(id: string, others: Cells, stored: StoredHead | undefined): SessionHead {
    const head = new SessionHead(id);
    for (const [name, value] of others) head.#others.set(name, sumOf(name, value));
    head.#sum = stored?.sum ?? 0;
    head.#inside = [...(stored?.cells.keys() ?? [])];
    head.#isDamaged = stored === undefined;
    return head;
  }

  /**
   * Returns what changes outside of the head, and the head's new value, which is valid until the next call. `read`
   * returns the cells in the stored head.
   */
  change({ put, remove }: JournalChanges, read: () => Cells): JournalChanges & { head: Uint8Array } {
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
    const outside: (readonly [string, Uint8Array])[] = [];
    const gone = remove.length === 0 ? [] : remove.filter((name) => this.#forget(name));
    for (const cell of put) {
      const [name, value] = cell;
      const isInside = before.includes(name);
      const isOutside = !isInside && this.#forget(name);
      if ((isInside || isOutside) && end + sizeOf(name, value) <= MAX_HEAD_BYTES) {
        inside.push(name);
        end = encodeCell(name, value, end);
        if (isOutside) gone.push(name);
      } else {
        outside.push(cell);
        this.#remember(name, sumOf(name, value));
      }
    }
    this.#inside = inside;
    return { put: outside, remove: gone, head: this.#seal(end) };
  }

  #remember(name: string, sum: number): void {
    this.#others.set(name, sum);
    this.#sum = (this.#sum + sum) >>> 0;
  }

  #forget(name: string): boolean {
    const sum = this.#others.get(name);
    if (sum === undefined) return false;
    this.#others.delete(name);
    this.#sum = (this.#sum - sum) >>> 0;
    return true;
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
  return crc32(value, crc32(name));
}

function sizeOf(name: string, value: Uint8Array): number {
  return LENGTHS + Buffer.byteLength(name) + value.length;
}

/** An entry has its own checksum, because it is read without the cells. */
export function sumOfEntry(entry: JournalEntry): number {
  return crc32(JSON.stringify(entry), crc32(entry.id));
}
