/** Reads the pages of a file of LMDB, because LMDB ends the process when it follows a damaged one. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** The length of the header of each page: its number, the transaction that wrote it, flags and bounds of free space. */
const HEADER = 24;
const FLAGS_AT = 18;
const [BRANCH, LEAF, OVERFLOW, META] = [1, 2, 4, 8];
/** The magic number of a first page, after its header. */
const MAGIC = 0xbeefc0de;
const VERSION = 2;
const NODE = 8;
const BIG = 1;
const MAX_DEPTH = 32;
/** What this package and LMDB's can read as a key: up to three texts. */
const KEY = /^[!-~]+(\0[ -~]*){0,2}$/;
const NO_ROOT = 0xffff_ffff_ffff_ffffn;

/** One of the two trees of a file: that of the free pages, and that of the data. */
interface Tree {
  depth: number;
  branches: number;
  leaves: number;
  overflow: number;
  entries: number;
  root: bigint;
  compare(one: Buffer, other: Buffer): number;
  isKey(key: Buffer): boolean;
}

/** What the last transaction wrote. */
export interface FileState {
  pageSize: number;
  pages: number;
  transaction: bigint;
  free: Tree;
  data: Tree;
}

/** True when the file begins as LMDB's files do. @throws when it cannot be opened. */
export function hasHeader(path: string): boolean {
  return withFile(path, "r", (file) => read(file, 0, 64).readUInt32LE(HEADER) === MAGIC);
}

/** Call it while no process writes. @throws when the two first pages are damaged. */
export function readState(path: string, flags = "r"): FileState {
  return withFile(path, flags, readMeta);
}

/**
 * Checks each page that LMDB can reach in a state: its kind, its place, that everything on it lies within it, the order
 * of its keys, and that no page is used twice. The content of values is not checked. Another process may write meanwhile,
 * if a transaction that reads this state is open. @throws when a page is damaged.
 */
export function checkPages(path: string, state: FileState): void {
  withFile(path, "r", (file) => new PageCheck(file, state).run());
}

function withFile<T>(path: string, flags: string, action: (file: number) => T): T {
  const file = openSync(path, flags);
  try {
    return action(file);
  } finally {
    closeSync(file);
  }
}

function readMeta(file: number): FileState {
  const first = parseMeta(read(file, 0, 4096), 0);
  const second = parseMeta(read(file, first.pageSize, 4096), 1);
  const [older, newer] = first.transaction < second.transaction ? [first, second] : [second, first];
  // A transaction writes the page that the one before it did not write.
  const isPair = newer.transaction - older.transaction === 1n || newer.transaction === 0n;
  if (!isPair || first.pageSize !== second.pageSize) throw damaged(0);
  return newer;
}

function parseMeta(page: Buffer, nth: number): FileState {
  if (page.readUInt32LE(HEADER) !== MAGIC) throw new Error("it is not a journal");
  const pageSize = page.readUInt32LE(48);
  const transaction = page.readBigUInt64LE(152);
  const isMeta = page.readUInt16LE(FLAGS_AT) === META && page.readUInt32LE(HEADER + 4) === VERSION;
  const isSize = pageSize >= 512 && pageSize <= 65_536 && (pageSize & (pageSize - 1)) === 0;
  const isTurn = transaction === 0n || Number(transaction % 2n) === nth;
  if (!isMeta || !isSize || !isTurn) throw damaged(nth);
  const pages = Number(page.readBigUInt64LE(144)) + 1;
  const free: Tree = {
    ...parseTree(page, 48),
    compare: (one, other) => Number(one.readBigUInt64LE() - other.readBigUInt64LE()),
    isKey: ({ length }) => length === 8,
  };
  const data: Tree = {
    ...parseTree(page, 96),
    compare: Buffer.compare,
    isKey: (key) => KEY.test(key.toString("latin1")),
  };
  return { pageSize, pages, transaction, free, data };
}

function parseTree(page: Buffer, at: number): Omit<Tree, "compare" | "isKey"> {
  const [branches = 0, leaves = 0, overflow = 0, entries = 0] = [8, 16, 24, 32].map((of) =>
    Number(page.readBigUInt64LE(at + of)),
  );
  const depth = page.readUInt16LE(at + 6);
  return { depth, branches, leaves, overflow, entries, root: page.readBigUInt64LE(at + 40) };
}

class PageCheck {
  readonly #file: number;
  readonly #meta: FileState;
  /** One for each page that is in use. */
  readonly #used: Uint8Array;

  constructor(file: number, meta: FileState) {
    this.#file = file;
    this.#meta = meta;
    const pages = Math.ceil(fstatSync(file).size / meta.pageSize);
    if (meta.pages > pages) throw damaged(pages);
    this.#used = new Uint8Array(meta.pages).fill(1, 0, 2);
  }

  run(): void {
    const { data, free } = this.#meta;
    const freed: Buffer[] = [];
    this.#checkTree(data);
    this.#checkTree(free, (list) => freed.push(list));
    for (const list of freed) this.#checkFree(list);
  }

  #checkTree(tree: Tree, onValue?: (value: Buffer) => void): void {
    const found = { branches: 0, leaves: 0, overflow: 0, entries: 0 };
    let last: Buffer | undefined;
    const isWithin = (key: Buffer, from: Buffer | undefined, to: Buffer | undefined): boolean =>
      (from === undefined || tree.compare(from, key) <= 0) && (to === undefined || tree.compare(key, to) < 0);
    const visit = (number: number, level: number, from: Buffer | undefined, to: Buffer | undefined): void => {
      const page = this.#use(number, 1);
      const isLeaf = level === tree.depth;
      const nodes = nodesOf(page, isLeaf ? LEAF : BRANCH, number);
      if (isLeaf) found.leaves++;
      else found.branches++;
      for (const [index, at] of nodes.entries()) {
        const keyOf = (place: number): Buffer => {
          const key = keyAt(page, place, number);
          if (!tree.isKey(key)) throw damaged(number);
          return key;
        };
        if (!isLeaf) {
          const next = nodes[index + 1];
          // The first key of a branch is not used.
          const begin = index === 0 ? from : keyOf(at);
          visit(childAt(page, at), level + 1, begin, next === undefined ? to : keyOf(next));
          continue;
        }
        const key = keyOf(at);
        found.entries++;
        const isInOrder = (last === undefined || tree.compare(last, key) < 0) && isWithin(key, from, to);
        if (!isInOrder) throw damaged(number);
        last = key;
        const { begin, size, pages } = this.#placeOf(page, at, number);
        found.overflow += pages;
        onValue?.(read(this.#file, begin, size));
      }
    };
    if (tree.depth > MAX_DEPTH) throw damaged(0);
    if (tree.root !== NO_ROOT) visit(Number(tree.root), 1, undefined, undefined);
    const isSame = (Object.keys(found) as (keyof typeof found)[]).every((name) => found[name] === tree[name]);
    if (!isSame) throw damaged(0);
  }

  /** Where the value is: on the page, or on as many others. */
  #placeOf(page: Buffer, at: number, number: number): { begin: number; size: number; pages: number } {
    const { pageSize } = this.#meta;
    const size = page.readUInt32LE(at);
    const flags = page.readUInt16LE(at + 4);
    const begin = at + NODE + page.readUInt16LE(at + 6);
    const isBig = flags === BIG;
    if ((flags !== 0 && !isBig) || begin + (isBig ? 24 : size) > pageSize) throw damaged(number);
    if (!isBig) return { begin: number * pageSize + begin, size, pages: 0 };
    const first = Number(page.readBigUInt64LE(begin));
    const pages = Math.ceil((HEADER + size) / pageSize);
    const head = this.#use(first, pages);
    const isWhole = (head.readUInt16LE(FLAGS_AT) & OVERFLOW) !== 0 && head.readUInt32LE(20) === pages;
    if (!isWhole) throw damaged(first);
    return { begin: first * pageSize + HEADER, size, pages };
  }

  /** Pages that are free: their count, and their numbers. */
  #checkFree(list: Buffer): void {
    const count = Number(list.readBigInt64LE());
    if (count < 0 || (count + 1) * 8 > list.length) throw damaged(0);
    for (let nth = 1; nth <= count; nth++) {
      const value = Number(list.readBigInt64LE(nth * 8));
      // A negative one is a count, and the number of the first page comes next.
      const pages = value < 0 ? -value : 1;
      const first = value < 0 ? Number(list.readBigInt64LE(++nth * 8)) : value;
      if (first !== 0) this.#mark(first, pages);
    }
  }

  #use(number: number, count: number): Buffer {
    this.#mark(number, count);
    const { pageSize, transaction } = this.#meta;
    const page = read(this.#file, number * pageSize, pageSize);
    const isHere = page.readBigUInt64LE() === BigInt(number) && page.readBigUInt64LE(8) <= transaction;
    if (!isHere) throw damaged(number);
    return page;
  }

  #mark(number: number, count: number): void {
    // The sum is not compared: a huge number would lose its last digits in it.
    if (number >= this.#used.length || count > this.#used.length) throw damaged(number);
    for (let page = number; page < number + count; page++) {
      if (this.#used[page] !== 0) throw damaged(page);
      this.#used[page] = 1;
    }
  }
}

/** Where the nodes of a page begin. */
function nodesOf(page: Buffer, kind: number, number: number): number[] {
  const [lower, upper] = [page.readUInt16LE(20), page.readUInt16LE(22)];
  const isBounded = lower > 0 && lower % 2 === 0 && lower <= upper && HEADER + upper <= page.length;
  if (page.readUInt16LE(FLAGS_AT) !== kind || page.readUInt16LE(16) !== 0 || !isBounded) throw damaged(number);
  const nodes = Array.from({ length: lower / 2 }, (_, nth) => HEADER + page.readUInt16LE(HEADER + 2 * nth));
  if (nodes.some((at) => at < HEADER + upper || at + NODE > page.length)) throw damaged(number);
  return nodes;
}

function keyAt(page: Buffer, at: number, number: number): Buffer {
  const end = at + NODE + page.readUInt16LE(at + 6);
  if (end > page.length) throw damaged(number);
  return page.subarray(at + NODE, end);
}

function childAt(page: Buffer, at: number): number {
  return page.readUIntLE(at, 6);
}

function read(file: number, at: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  readSync(file, bytes, 0, size, at);
  return bytes;
}

function damaged(page: number): Error {
  return new Error(`its page ${page} is damaged or missing; delete it to start without its sessions`);
}
