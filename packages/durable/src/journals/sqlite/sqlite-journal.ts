import { ConfigError } from "#core/errors.js";
import { hasEnded } from "#core/server/sqlite/owner.js";
import type { Eventual } from "#core/util/types.js";
import { nextTurn } from "#parts/sockets/scheduling";
import {
  epochLost,
  hasEndedBefore,
  isElsewhere,
  type Journal,
  type JournalChanges,
  type JournalEntry,
  type JournalError,
  type JournalReader,
  type JournalRecord,
  unavailable,
} from "../journal.js";
import { hasThread, openInThread } from "./journal-thread.js";
import { openFile, openFileToRead, type SqliteFile, type SqliteJournalOptions } from "./open-file.js";
import { CELLS, SessionHead } from "./session-head.js";
import { prepareAll, type Statements } from "./statements.js";
import { decodeEntry, find, putEntry, readCells, readHead, readRecord, type Stored } from "./stored-session.js";
import { TurnTransactions } from "./turn-transactions.js";

type OpenThread = () => Promise<Journal>;

/** What a commit may write on the event loop: more takes long. */
const LARGE_BYTES = 256 * 1024;
/** The sessions of a process have keys next to each other, so that its commits write few pages. */
const RESERVED_KEYS = 256;
/** The number of entries that are listed before other work gets its turn: about 3 ms. */
const PAGE_ENTRIES = 500;

/**
 * A journal in one file of SQLite that all workers of a machine share.
 * @throws ConfigError when the file cannot be used, or this runtime has no SQLite.
 */
export async function openSqliteJournal(options: SqliteJournalOptions): Promise<Journal> {
  if (!hasThread()) return openHere(options);
  // The connection of the server itself makes checkpoints.
  if (options.durability === "disk" || options.isFirst === true) return openInThread(options);
  return openHere(options, () => openInThread(options));
}

/** Opens it in this thread; `openThread` opens it for what takes long. @throws ConfigError like {@link openSqliteJournal}. */
export async function openHere(options: SqliteJournalOptions, openThread?: OpenThread): Promise<Journal> {
  const { path, owner } = options;
  try {
    return new SqliteJournal(await openFile(path, options), { path, owner, openThread });
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
    return new SqliteJournal(await openFileToRead(path), { path, owner: "" });
  } catch (error) {
    throw toConfigError(error, `${path} cannot be read as a journal`);
  }
}

class SqliteJournal implements Journal {
  readonly #file: SqliteFile;
  readonly #sql: Statements;
  readonly #path: string;
  readonly #owner: string;
  readonly #turns: TurnTransactions;
  readonly #known = new Map<string, SessionHead>();
  readonly #openThread: OpenThread | undefined;
  #thread: Promise<Journal> | undefined;
  /** The sessions that the thread has: those that had a large commit. */
  readonly #large = new Set<string>();
  #keys = { next: 0, end: 0 };

  constructor(
    file: SqliteFile,
    { path, owner, openThread }: { path: string; owner: string; openThread?: OpenThread | undefined },
  ) {
    this.#file = file;
    this.#sql = prepareAll(file.db);
    const undone = (): void => {
      // What was undone may be known here.
      this.#known.clear();
      this.#keys = { next: 0, end: 0 };
    };
    this.#turns = new TurnTransactions({ file, sql: this.#sql, path, undone });
    this.#path = path;
    this.#owner = owner;
    this.#openThread = openThread;
  }

  create(id: string, tokenHash: string): Promise<number> {
    return this.#turns.run(id, () => {
      const found = find(this.#sql, id);
      if (found?.entry.ended === null) throw isElsewhere(id);
      const epoch = (found?.entry.epoch ?? 0) + 1;
      // With a new key, what is left of a damaged session is not in the way.
      if (found !== undefined) this.#sql.removeHead.run(found.k);
      const k = this.#nextKey();
      const head = new SessionHead(id, k, epoch);
      putEntry(this.#sql, k, { id, tokenHash, epoch, owner: this.#owner, ended: null });
      this.#sql.putHead.run(k, epoch, head.change({ put: [], remove: [] }, () => new Map()).head);
      this.#known.set(id, head);
      this.#large.delete(id);
      return epoch;
    });
  }

  find(id: string): JournalEntry | undefined {
    return this.#turns.read(() => find(this.#sql, id)?.entry);
  }

  isHeld({ owner, ended }: JournalEntry): boolean {
    // An owner on another host had this file before: a container that was replaced.
    return ended === null && owner !== null && hasEnded(owner) === false;
  }

  async takeOver(id: string): Promise<JournalRecord | undefined> {
    const taken = await this.#turns.run(id, () => {
      const found = find(this.#sql, id);
      if (found === undefined || found.entry.ended !== null) return undefined;
      const { k, entry } = found;
      if (entry.owner !== this.#owner && this.isHeld(entry)) throw isElsewhere(id);
      const own = { ...entry, epoch: entry.epoch + 1, owner: this.#owner };
      putEntry(this.#sql, k, own);
      this.#sql.takeHead.run(own.epoch, k);
      this.#known.delete(id);
      this.#large.delete(id);
      return { k, entry: own };
    });
    // SQLite commits no transaction that has read a damaged page. No other process changes the cells now.
    return taken && this.#turns.read(() => readRecord(this.#sql, taken));
  }

  commit(id: string, epoch: number, changes: JournalChanges): Promise<void> {
    if (this.#openThread !== undefined && !this.#large.has(id) && sizeOf(changes) > LARGE_BYTES) {
      this.#large.add(id);
      this.#known.delete(id);
    }
    const inThread = this.#inThread(id, (thread) => thread.commit(id, epoch, changes));
    if (inThread !== undefined) return inThread;
    return this.#turns.run(id, () => {
      const known = this.#known.get(id);
      const head = known?.epoch === epoch ? known : this.#load(id, epoch);
      const { k } = head;
      const changed = head.change(changes, () => readHead(this.#sql, id, k)?.cells ?? new Map());
      if (this.#sql.commitHead.run(changed.head, k, epoch).changes === 0) {
        this.#known.delete(id);
        throw epochLost(id, epoch);
      }
      for (const n of changed.remove) this.#sql.removeCell.run(n);
      for (const { n, name, value } of changed.put) this.#sql.putCell.run(n, name, value);
    });
  }

  release(id: string, epoch: number): Promise<void> {
    const inThread = this.#inThread(id, (thread) => thread.release(id, epoch));
    this.#large.delete(id);
    if (inThread !== undefined) return inThread;
    return this.#turns.run(id, () => {
      const found = this.#own(id, epoch);
      if (found !== undefined) putEntry(this.#sql, found.k, { ...found.entry, owner: null });
      this.#known.delete(id);
    });
  }

  async end(id: string, epoch: number, reason: string): Promise<void> {
    const inThread = this.#inThread(id, (thread) => thread.end(id, epoch, reason));
    this.#large.delete(id);
    if (inThread !== undefined) return inThread;
    const end = (hasCells: boolean): Promise<void> =>
      this.#turns.run(id, () => {
        const found = this.#own(id, epoch);
        this.#known.delete(id);
        if (found === undefined) return;
        this.#sql.removeHead.run(found.k);
        if (hasCells) this.#sql.removeCells.run(found.k * CELLS, (found.k + 1) * CELLS);
        putEntry(this.#sql, found.k, { ...found.entry, owner: null, ended: { at: Date.now(), reason } });
      });
    try {
      await end(true);
    } catch (error) {
      // Damaged cells cannot be removed.
      if (!(error as JournalError).isDamage) throw error;
      await end(false);
    }
  }

  /** Reads a page at a time, because other sessions wait meanwhile: sessions that have ended lately have entries, too. */
  async list(): Promise<JournalEntry[]> {
    const found: JournalEntry[] = [];
    for (let last = 0; ; ) {
      const page = this.#turns.read(() => {
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
    return this.#turns.readOnce(() => {
      const found = find(this.#sql, id);
      return found && readRecord(this.#sql, found);
    });
  }

  removeEnded(listed: readonly JournalEntry[], before: number): Promise<void> {
    const old = listed.filter((entry) => hasEndedBefore(entry, before));
    if (old.length === 0) return Promise.resolve();
    return this.#turns.run(undefined, () => {
      for (const { id } of old) {
        // Its id may have been used again.
        const found = find(this.#sql, id);
        if (found !== undefined && hasEndedBefore(found.entry, before)) this.#sql.removeEntry.run(found.k);
      }
    });
  }

  async close(): Promise<void> {
    await this.#thread?.then(
      (thread) => thread.close(),
      () => {},
    );
    await this.#turns.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Calls the thread if it has the session, so that the calls of a session stay in order. */
  #inThread(id: string, call: (thread: Journal) => Eventual<void>): Promise<void> | undefined {
    if (!this.#large.has(id) || this.#openThread === undefined) return undefined;
    this.#thread ??= this.#openThread().catch((error: unknown) => {
      this.#thread = undefined;
      throw unavailable(this.#path, error);
    });
    return this.#thread.then(call);
  }

  #own(id: string, epoch: number): Stored | undefined {
    const found = find(this.#sql, id);
    return found?.entry.epoch === epoch && found.entry.ended === null ? found : undefined;
  }

  #nextKey(): number {
    if (this.#keys.next === this.#keys.end) {
      const end = this.#sql.reserve.get(RESERVED_KEYS)?.["next"] as number;
      this.#keys = { next: end - RESERVED_KEYS, end };
    }
    return this.#keys.next++;
  }

  /** Reads a session again after a takeover, or after a transaction that failed. */
  #load(id: string, epoch: number): SessionHead {
    const found = this.#own(id, epoch);
    if (found === undefined) throw epochLost(id, epoch);
    const { k } = found;
    const head = new SessionHead(id, k, epoch).restore(readCells(this.#sql, k), readHead(this.#sql, id, k));
    this.#known.set(id, head);
    return head;
  }
}

function sizeOf({ put }: JournalChanges): number {
  let bytes = 0;
  for (const [, value] of put) bytes += value.length;
  return bytes;
}

function toConfigError(error: unknown, message: string): ConfigError {
  return error instanceof ConfigError
    ? error
    : new ConfigError(`${message}: ${(error as Error).message}`, { cause: error });
}
