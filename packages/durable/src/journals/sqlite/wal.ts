/**
 * Reads the log that SQLite recovers a file from. SQLite drops everything after a damaged frame, because an unfinished
 * write looks like one: commits that were acknowledged would be lost without an error.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";

const HEADER = 32;
const FRAME_HEADER = 24;
/** The lowest bit says that checksums read the bytes as big-endian numbers. */
const MAGIC = 0x377f0682;
/** A process may write meanwhile: its unfinished write is not found again in the same place. */
const LOOKS = 3;

type Sum = readonly [one: number, other: number];

/**
 * Call this before SQLite has the file open in this process. A damaged frame of the last transaction looks like an
 * unfinished write. @throws when frames of a later transaction follow a damaged one.
 */
export function checkWal(path: string): void {
  let place: string | undefined;
  for (let looks = 0; looks < LOOKS; looks++) {
    const found = existsSync(path) ? findDamage(path) : undefined;
    if (found === undefined || (looks > 0 && found !== place)) return;
    place = found;
  }
  throw new Error(`its file ${path} is damaged at ${place}; delete both`);
}

function findDamage(path: string): string | undefined {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    if (size < HEADER) return undefined;
    const head = read(file, 0, HEADER);
    const isBigEndian = (head.readUInt32BE() & 1) === 1;
    let sum = addTo([0, 0], head.subarray(0, 24), isBigEndian);
    const isHeader = (head.readUInt32BE() & ~1) >>> 0 === MAGIC;
    if (!isHeader || !isStored(sum, head, 24)) return "its header";
    const page = head.readUInt32BE(8);
    const salts = head.subarray(16, 24);
    let bad: number | undefined;
    for (let at = HEADER; at + FRAME_HEADER + page <= size; at += FRAME_HEADER + page) {
      const frame = read(file, at, bad === undefined ? FRAME_HEADER + page : FRAME_HEADER);
      // A frame of an earlier log, which this one has not written over.
      if (!frame.subarray(8, 16).equals(salts) && bad === undefined) bad = at;
      if (bad === undefined) {
        sum = addTo(addTo(sum, frame.subarray(0, 8), isBigEndian), frame.subarray(FRAME_HEADER), isBigEndian);
        if (!isStored(sum, frame, 16)) bad = at;
      } else if (frame.subarray(8, 16).equals(salts) && frame.readUInt32BE(4) !== 0 && bad !== at) {
        return `byte ${bad}`;
      }
    }
    return undefined;
  } finally {
    closeSync(file);
  }
}

function read(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  readSync(file, bytes, 0, length, at);
  return bytes;
}

/** SQLite's checksum: two numbers, which are those of what was read before with these bytes. */
function addTo([one, other]: Sum, bytes: Buffer, isBigEndian: boolean): Sum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + view.getUint32(at, !isBigEndian) + other) | 0;
    other = (other + view.getUint32(at + 4, !isBigEndian) + one) | 0;
  }
  return [one, other];
}

function isStored([one, other]: Sum, bytes: Buffer, at: number): boolean {
  return bytes.readInt32BE(at) === one && bytes.readInt32BE(at + 4) === other;
}
