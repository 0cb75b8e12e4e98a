/** Checksums of what a file has, because LMDB has none. */
import { crc32 } from "node:zlib";
import { damagedEntry, type JournalEntry } from "./journal.js";

const BYTES = 4;

/** The checksums of the cells of a session, and their sum, which is stored with them. */
export class CellSums {
  #sum: number;
  /** Of each cell; `name` is that of its name alone. */
  readonly #cells = new Map<string, { name: number; whole: number }>();

  /** `stored`: the sum that the file has, where it may be another. */
  constructor(cells: Iterable<readonly [string, Uint8Array]> = [], stored?: number) {
    this.#sum = 0;
    for (const [name, value] of cells) this.put(name, value);
    this.#sum = stored ?? this.#sum;
  }

  get sum(): number {
    return this.#sum;
  }

  put(name: string, value: Uint8Array): void {
    let cell = this.#cells.get(name);
    if (cell === undefined) this.#cells.set(name, (cell = { name: crc32(name), whole: 0 }));
    const whole = crc32(value, cell.name);
    this.#sum = (this.#sum - cell.whole + whole) >>> 0;
    cell.whole = whole;
  }

  remove(name: string): void {
    this.#sum = (this.#sum - (this.#cells.get(name)?.whole ?? 0)) >>> 0;
    this.#cells.delete(name);
  }

  encode(): Buffer {
    const bytes = Buffer.allocUnsafe(BYTES);
    bytes.writeUInt32LE(this.#sum);
    return bytes;
  }
}

export function decodeSum(bytes: Uint8Array | undefined): number | undefined {
  return bytes?.length === BYTES ? Buffer.from(bytes).readUInt32LE() : undefined;
}

/** An entry has its checksum before its text, because it is read without the cells. */
export function encodeEntry(entry: JournalEntry): Buffer {
  const text = Buffer.from(JSON.stringify(entry));
  const bytes = Buffer.alloc(BYTES + text.length);
  text.copy(bytes, BYTES);
  bytes.writeUInt32LE(crc32(text, crc32(entry.id)));
  return bytes;
}

export function decodeEntry(id: string, value: Uint8Array): JournalEntry {
  const bytes = Buffer.from(value);
  const text = bytes.subarray(BYTES);
  const isWhole = bytes.length > BYTES && bytes.readUInt32LE() === crc32(text, crc32(id));
  return isWhole ? (JSON.parse(text.toString()) as JournalEntry) : damagedEntry(id);
}
