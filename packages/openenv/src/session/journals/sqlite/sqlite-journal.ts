import { ConfigError } from "../../../errors.js";
import { nextTurn } from "../../../util/async/next-turn.js";
import {
  type Durability,
  damagedEntry,
  epochLost,
  hasEndedBefore,
  isElsewhere,
  type Journal,
  type JournalChanges,
  type JournalEntry,
  JournalError,
  type JournalReader,
  type JournalRecord,
  sessionDamaged,
  unavailable,
} from "../journal.js";
import { hasEnded } from "../owner.js";
import { isBusy, isCorrupt, type SqliteRow } from "./database.js";
import { openFile, openFileToRead, type SqliteFile } from "./open-file.js";
import { decodeHead, SessionHead, sumOfCells, sumOfEntry } from "./session-head.js";
import { prepareAll, type Statements } from "./statements.js";
import { TurnTransactions } from "./turn-transactions.js";

export interface SqliteJournalOptions {
  path: string;
  /** `process`: the file is dropped when the machine has restarted. `disk`: each commit waits for the disk. */
  durability: Durability;
  owner: string;
  /** True for the server itself, before its workers: it checks the whole file, and refuses one that another server has. */
  isFirst?: boolean;
}

/** What this process knows of one of its sessions. */
interface Known {
  readonly k: number;
  readonly head: SessionHead;
  /** The numbers of its cells that are not in the head. */
  readonly cells: Map<string, number>;
  /** The number of the next one, after the key. */
  next: number;
}

interface Stored {
  readonly k: number;
  readonly entry: JournalEntry;
}

/** The number of cells that a session may have numbers for. Keys and numbers are safe integers. */
const CELLS = 2 ** 20;
/** The sessions of a process have keys next to each other, so that its commits write few pages. */
const RESERVED_KEYS = 256;
/** The number of entries that are listed before other work gets its turn: about 3 ms. */
const PAGE_ENTRIES = 500;
/** The key of a session whose entry cannot be read. */
const UNREADABLE = -1;
const NO_BYTES = new Uint8Array();

/**
 * A journal in one file of SQLite that all workers of a machine share.
 * @throws ConfigError when the file cannot be used, or this runtime has no SQLite.
 */
export async function openSqliteJournal(options: SqliteJournalOptions): Promise<Journal> {
  // The connection of the server itself makes checkpoints.
  const isSlow = options.durability === "disk" || options.isFirst === true;
  if (!isSlow) return openHere(options);
  const { hasThread, openInThread } = await import("./journal-thread.js");
  return hasThread() ? openInThread(options) : openHere(options);
}

/** Opens it in this thread. @throws ConfigError like {@link openSqliteJournal}. */
export async function openHere(options: SqliteJournalOptions): Promise<Journal> {
  const { path, owner } = options;
  try {
    return new SqliteJournal(await openFile(path, options), path, owner);
  } catch (error) {
    throw toConfigError(error, `JOURNAL must name a file of this server on a local disk, not "${path}"`);
  }
}

/**
 * Reads a journal in a file of SQLite, also while a server uses it.
 * @throws ConfigError when the file cannot be read, or this runtime has no SQLite.
 */
export async function readSqliteJournal(path: string): Promise<JournalReader> {
  try {
    return new SqliteJournal(await openFileToRead(path), path, "");
  } catch (error) {
    throw toConfigError(error, `${path} cannot be read as a journal`);
  }
}

class SqliteJournal implements Journal {
  readonly #file: SqliteFile;
  readonly #sql: Statements;
  readonly #path: string;
  readonly #owner: string;
  readonly #turns = new TurnTransactions({
    transact: (action) => this.#transact(action),
    undone: () => {
      // What was undone may be known here.
      this.#known.clear();
      this.#keys = { next: 0, end: 0 };
      // After a full disk, an empty log takes the next commits without more room.
      this.#tryCheckpoint();
    },
    isBusy: (error) => isBusy((error as Error).cause),
  });
  readonly #known = new Map<string, Known>();
  #keys = { next: 0, end: 0 };
  #isClosed = false;

  constructor(file: SqliteFile, path: string, owner: string) {
    this.#file = file;
    this.#sql = prepareAll(file.db);
    this.#path = path;
    this.#owner = owner;
  }

  create(id: string, tokenHash: string): Promise<number> {
    return this.#turns.run(id, () => {
      const found = this.#get(id);
      if (found?.entry.ended === null) throw isElsewhere(id);
      const epoch = (found?.entry.epoch ?? 0) + 1;
      // With a new key, what is left of a damaged session is not in the way.
      if (found !== undefined) this.#sql.removeHead.run(found.k);
      const k = this.#nextKey();
      const head = new SessionHead(id);
      this.#put(k, { id, tokenHash, epoch, owner: this.#owner, ended: null });
      this.#sql.putHead.run(k, epoch, head.change({ put: [], remove: [] }, () => new Map()).head);
      this.#known.set(id, { k, head, cells: new Map(), next: 0 });
      return epoch;
    });
  }

  find(id: string): JournalEntry | undefined {
    return this.#guard(() => this.#get(id)?.entry);
  }

  isHeld({ owner, ended }: JournalEntry): boolean {
    // An owner on another host had this file before: a container that was replaced.
    return ended === null && owner !== null && hasEnded(owner) === false;
  }

  async takeOver(id: string): Promise<JournalRecord | undefined> {
    const taken = await this.#turns.run(id, () => {
      const found = this.#get(id);
      if (found === undefined || found.entry.ended !== null) return undefined;
      const { k, entry } = found;
      if (entry.owner !== this.#owner && this.isHeld(entry)) throw isElsewhere(id);
      const own = { ...entry, epoch: entry.epoch + 1, owner: this.#owner };
      this.#put(k, own);
      this.#sql.takeHead.run(own.epoch, k);
      this.#known.delete(id);
      return { k, entry: own };
    });
    // SQLite commits no transaction that has read a damaged page. No other process changes the cells now.
    return taken && this.#guard(() => this.#record(taken));
  }

  commit(id: string, epoch: number, changes: JournalChanges): Promise<void> {
    return this.#turns.run(id, () => {
      const known = this.#known.get(id) ?? this.#load(id, epoch);
      const { k, head, cells } = known;
      const changed = head.change(changes, () => this.#storedHead(id, k)?.cells ?? new Map());
      if (this.#sql.commitHead.run(changed.head, k, epoch).changes === 0) {
        this.#known.delete(id);
        throw epochLost(id, epoch);
      }
      for (const name of changed.remove) {
        this.#sql.removeCell.run(cells.get(name) as number);
        cells.delete(name);
      }
      if (cells.size === 0) known.next = 0;
      for (const [name, value] of changed.put) this.#sql.putCell.run(numberOf(known, name), name, value);
    });
  }

  release(id: string, epoch: number): Promise<void> {
    return this.#turns.run(id, () => {
      const found = this.#own(id, epoch);
      if (found !== undefined) this.#put(found.k, { ...found.entry, owner: null });
      this.#known.delete(id);
    });
  }

  async end(id: string, epoch: number, reason: string): Promise<void> {
    const end = (hasCells: boolean): Promise<void> =>
      this.#turns.run(id, () => {
        const found = this.#own(id, epoch);
        this.#known.delete(id);
        if (found === undefined) return;
        this.#sql.removeHead.run(found.k);
        if (hasCells) this.#sql.removeCells.run(found.k * CELLS, (found.k + 1) * CELLS);
        this.#put(found.k, { ...found.entry, owner: null, ended: { at: Date.now(), reason } });
      });
    try {
      await end(true);
    } catch (error) {
      // Damaged cells cannot be removed.
      if (!(error as JournalError).isDamage) throw error;
      await end(false);
    }
  }

  /** In parts, because other sessions wait meanwhile: there is an entry for each session that has ended lately, too. */
  async list(): Promise<JournalEntry[]> {
    const found: JournalEntry[] = [];
    for (let last = 0; ; ) {
      const page = this.#guard(() => {
        this.#file.check();
        return this.#sql.list.all(last, PAGE_ENTRIES);
      });
      found.push(...page.map(decodeEntry));
      if (page.length < PAGE_ENTRIES) return found;
      last = page.at(-1)?.["k"] as number;
      await new Promise<void>(nextTurn);
    }
  }

  read(id: string): JournalRecord | undefined {
    return this.#guard(() => {
      this.#sql.beginRead.run();
      try {
        const found = this.#get(id);
        return found && this.#record(found);
      } finally {
        this.#undo();
      }
    });
  }

  removeEnded(listed: readonly JournalEntry[], before: number): Promise<void> {
    const old = listed.filter((entry) => hasEndedBefore(entry, before));
    if (old.length === 0) return Promise.resolve();
    return this.#turns.run(undefined, () => {
      for (const { id } of old) {
        // Its id may have been used again.
        const found = this.#get(id);
        if (found !== undefined && hasEndedBefore(found.entry, before)) this.#sql.removeEntry.run(found.k);
      }
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.#turns.settle();
    this.#isClosed = true;
    this.#file.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A session whose entry cannot be read has ended. */
  #get(id: string): Stored | undefined {
    try {
      const row = this.#sql.find.get(id);
      return row ? { k: row["k"] as number, entry: decodeEntry(row) } : undefined;
    } catch (error) {
      if (isCorrupt(error)) return { k: UNREADABLE, entry: damagedEntry(id) };
      throw error;
    }
  }

  #record({ k, entry }: Stored): JournalRecord {
    try {
      const others = new Map(this.#cells(k).map(({ name, value }) => [name, value]));
      if (entry.ended !== null) return { ...entry, cells: others };
      const head = this.#storedHead(entry.id, k);
      const cells = new Map([...others, ...(head?.cells ?? [])]);
      return { ...entry, cells, isDamaged: head?.sum !== sumOfCells(others) };
    } catch (error) {
      if (isCorrupt(error)) return { ...entry, cells: new Map(), isDamaged: true };
      throw error;
    }
  }

  #own(id: string, epoch: number): Stored | undefined {
    const found = this.#get(id);
    return found?.entry.epoch === epoch && found.entry.ended === null ? found : undefined;
  }

  #put(k: number, { id, tokenHash, epoch, owner, ended }: JournalEntry): void {
    const sum = sumOfEntry({ id, tokenHash, epoch, owner, ended });
    this.#sql.putEntry.run(k, id, tokenHash, epoch, owner, ended?.at ?? null, ended?.reason ?? null, sum);
  }

  #nextKey(): number {
    if (this.#keys.next === this.#keys.end) {
      const end = this.#sql.reserve.get(RESERVED_KEYS)?.["next"] as number;
      this.#keys = { next: end - RESERVED_KEYS, end };
    }
    return this.#keys.next++;
  }

  /** Reads a session again after a takeover, or after a transaction that failed. */
  #load(id: string, epoch: number): Known {
    const found = this.#own(id, epoch);
    if (found === undefined) throw epochLost(id, epoch);
    const { k } = found;
    const rows = this.#cells(k);
    const others = new Map(rows.map(({ name, value }) => [name, value]));
    const known = {
      k,
      head: SessionHead.stored(id, others, this.#storedHead(id, k)),
      cells: new Map(rows.map(({ name, n }) => [name, n])),
      next: (rows.at(-1)?.n ?? k * CELLS - 1) + 1 - k * CELLS,
    };
    this.#known.set(id, known);
    return known;
  }

  #storedHead(id: string, k: number): ReturnType<typeof decodeHead> {
    const value = this.#sql.head.get(k)?.["head"];
    return value instanceof Uint8Array ? decodeHead(id, value) : undefined;
  }

  #cells(k: number): { n: number; name: string; value: Uint8Array }[] {
    const rows = this.#sql.cells.all(k * CELLS, (k + 1) * CELLS);
    return rows.map(({ n, name, value }) => ({
      n: n as number,
      name: String(name),
      // Another type is damage, and changes the sum.
      value: value instanceof Uint8Array ? value : NO_BYTES,
    }));
  }

  #transact<T>(action: () => T): T {
    return this.#guard(() => {
      this.#file.check();
      this.#sql.begin.run();
      try {
        const result = action();
        this.#sql.commit.run();
        return result;
      } catch (error) {
        this.#undo();
        throw error;
      }
    });
  }

  #tryCheckpoint(): void {
    try {
      this.#sql.checkpoint.get();
    } catch {
      // There is no room for this either.
    }
  }

  #undo(): void {
    try {
      this.#sql.rollback.run();
    } catch {
      // SQLite has undone it already, as after a full disk.
    }
  }

  #guard<T>(action: () => T): T {
    try {
      if (this.#isClosed) throw new Error("it is closed");
      return action();
    } catch (error) {
      if (error instanceof JournalError) throw error;
      throw isCorrupt(error) ? sessionDamaged(this.#path, error) : unavailable(this.#path, error);
    }
  }
}

function numberOf(known: Known, name: string): number {
  const found = known.cells.get(name);
  if (found !== undefined) return found;
  if (known.next >= CELLS) throw new Error("the session has too many cells");
  const n = known.k * CELLS + known.next++;
  known.cells.set(name, n);
  return n;
}

function decodeEntry(row: SqliteRow): JournalEntry {
  const { id, token, epoch, owner, ended, reason, sum } = row;
  const end = ended === null ? null : { at: ended, reason };
  const entry = { id, tokenHash: token, epoch, owner, ended: end } as JournalEntry;
  return sum === sumOfEntry(entry) ? entry : damagedEntry(String(id));
}

function toConfigError(error: unknown, message: string): ConfigError {
  return error instanceof ConfigError
    ? error
    : new ConfigError(`${message}: ${(error as Error).message}`, { cause: error });
}
