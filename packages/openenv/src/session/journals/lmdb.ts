import { ConfigError } from "../../errors.js";
import { nextTurn } from "../../util/async/next-turn.js";
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
  unavailable,
} from "./journal.js";
import type { LmdbMutex } from "./lmdb-mutex.js";
import { closeFile, type Database, type Key, type LmdbFile, openFile, openFileToRead } from "./lmdb-open.js";
import { hasEnded } from "./owner.js";
import { decodeEntry, decodeHead, encodeEntry, SessionHead, sumOfCells } from "./session-head.js";
import { TurnTransactions } from "./turn-transactions.js";

export interface LmdbJournalOptions {
  path: string;
  /** `process`: the file is dropped when the machine has restarted. `disk`: each commit waits for the disk. */
  durability: Durability;
  owner: string;
}

/** A transaction that an error undoes, and that is committed before the call returns; it does not wait for the disk. */
const ABORTABLE_AND_SYNC: number = 1 | 2;
const NO_FLUSH = 0x10000;
/** Ids of this package are shorter, and LMDB limits the length of keys. */
const MAX_ID_LENGTH = 200;
const LAST = "\u{10ffff}";
/** The number of entries that are listed before other work gets its turn: about 3 ms. */
const PAGE_ENTRIES = 500;
/** The number of times that a session has been taken over. Nothing else of another process makes an epoch old. */
const TAKEN: Key = ["taken"];

/**
 * A journal in one file that all workers of a machine share. Not for network file systems: LMDB needs shared memory.
 * @throws ConfigError when the file cannot be used, or the package `lmdb` is not installed.
 */
export async function openLmdbJournal({ path, durability, owner }: LmdbJournalOptions): Promise<Journal> {
  try {
    return new LmdbJournal(await openFile(path, durability), path, { owner, waits: durability === "disk" });
  } catch (error) {
    throw toConfigError(error, `JOURNAL must name a file of this server on a local disk, not "${path}"`);
  }
}

/**
 * Reads a journal in a file, also while a server uses it, and changes nothing in its folder.
 * @throws ConfigError when the file cannot be read, or the package `lmdb` is not installed.
 */
export async function readLmdbJournal(path: string): Promise<JournalReader> {
  try {
    return new LmdbJournal(await openFileToRead(path), path, { owner: "", waits: false });
  } catch (error) {
    throw toConfigError(error, `${path} cannot be read as a journal`);
  }
}

class LmdbJournal implements Journal {
  readonly #file: LmdbFile;
  readonly #db: Database;
  readonly #path: string;
  readonly #owner: string;
  readonly #waits: boolean;
  readonly #turns = new TurnTransactions({
    transact: (action) => this.#transact(action),
    undone: () => {
      // What was undone may be known here.
      this.#epochs.clear();
      this.#heads.clear();
    },
  });
  #isClosed = false;
  /** The epochs that were current at this number of {@link TAKEN}: they are read again only when it has changed. */
  readonly #epochs = new Map<string, number>();
  #taken = 0;
  /** The heads of the sessions that this process has. */
  readonly #heads = new Map<string, SessionHead>();

  constructor(file: LmdbFile, path: string, { owner, waits }: { owner: string; waits: boolean }) {
    this.#file = file;
    this.#db = file.db;
    this.#path = path;
    this.#owner = owner;
    this.#waits = waits;
  }

  create(id: string, tokenHash: string): Promise<number> {
    return this.#turns.run(id, () => {
      const found = this.#get(id);
      if (found?.ended === null) throw isElsewhere(id);
      const epoch = (found?.epoch ?? 0) + 1;
      // Cells of a damaged session.
      if (found !== undefined) this.#removeCells(id);
      this.#put({ id, tokenHash, epoch, owner: this.#owner, ended: null });
      this.#change(id, new SessionHead(id), { put: [], remove: [] });
      return epoch;
    });
  }

  find(id: string): JournalEntry | undefined {
    return this.#latest(() => this.#get(id));
  }

  isHeld({ owner, ended }: JournalEntry): boolean {
    // An owner on another host had this file before: a container that was replaced.
    return ended === null && owner !== null && hasEnded(owner) === false;
  }

  takeOver(id: string): Promise<JournalRecord | undefined> {
    return this.#turns.run(id, () => {
      const found = this.#get(id);
      if (found === undefined || found.ended !== null) return undefined;
      if (found.owner !== this.#owner && this.isHeld(found)) throw isElsewhere(id);
      const taken = { ...found, epoch: found.epoch + 1, owner: this.#owner };
      this.#put(taken);
      void this.#db.put(TAKEN, Buffer.from(String(++this.#taken)));
      this.#epochs.delete(id);
      this.#heads.delete(id);
      return this.#record(taken);
    });
  }

  commit(id: string, epoch: number, changes: JournalChanges): Promise<void> {
    return this.#turns.run(id, () => {
      if (!this.#isCurrent(id, epoch)) {
        this.#heads.delete(id);
        throw epochLost(id, epoch);
      }
      this.#change(id, this.#headOf(id), changes);
    });
  }

  release(id: string, epoch: number): Promise<void> {
    return this.#turns.run(id, () => {
      const found = this.#own(id, epoch);
      if (found !== undefined) this.#put({ ...found, owner: null });
      this.#forget(id);
    });
  }

  end(id: string, epoch: number, reason: string): Promise<void> {
    return this.#turns.run(id, () => {
      const found = this.#own(id, epoch);
      this.#forget(id);
      if (found === undefined) return;
      this.#removeCells(id);
      this.#put({ ...found, owner: null, ended: { at: Date.now(), reason } });
    });
  }

  /** Reads in parts, because other sessions wait meanwhile: each session that has ended lately has an entry, too. */
  async list(): Promise<JournalEntry[]> {
    const found: JournalEntry[] = [];
    let last = "";
    for (;;) {
      const range = { start: ["entry", last] as Key, end: ["entry", LAST] as Key, limit: PAGE_ENTRIES };
      const page = this.#latest(() =>
        [...this.#db.getRange(range)].map(({ key, value }) => decodeEntry(String(key[1]), value)),
      );
      found.push(...page.filter(({ id }) => id !== last));
      if (page.length < PAGE_ENTRIES) return found;
      last = page.at(-1)?.id ?? "";
      await new Promise<void>(nextTurn);
    }
  }

  read(id: string): JournalRecord | undefined {
    return this.#latest(() => {
      const entry = this.#get(id);
      return entry && this.#record(entry);
    });
  }

  removeEnded(listed: readonly JournalEntry[], before: number): Promise<void> {
    const old = listed.filter((entry) => hasEndedBefore(entry, before));
    if (old.length === 0) return Promise.resolve();
    return this.#turns.run(undefined, () => {
      for (const { id } of old) {
        // Its id may have been used again.
        const found = this.#get(id);
        if (found !== undefined && hasEndedBefore(found, before)) void this.#db.remove(["entry", id]);
      }
    });
  }

  async close(): Promise<void> {
    this.#turns.flush();
    this.#isClosed = true;
    await closeFile(this.#file);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What other processes have committed is visible, also within one turn of the event loop. */
  #latest<T>(action: () => T): T {
    return this.#guard(() => {
      this.#db.resetReadTxn();
      try {
        return action();
      } finally {
        // While a transaction reads, the file grows with each commit: a step may hold the event loop for long.
        this.#db.resetReadTxn();
      }
    });
  }

  #get(id: string): JournalEntry | undefined {
    if (id.length > MAX_ID_LENGTH) return undefined;
    const value = this.#db.get(["entry", id]);
    if (value !== undefined) return decodeEntry(id, value);
    return this.#db.get(["head", id]) && damagedEntry(id);
  }

  #record(entry: JournalEntry): JournalRecord {
    const others = new Map(this.#cells(entry.id));
    if (entry.ended !== null) return { ...entry, cells: others };
    const head = this.#storedHead(entry.id);
    const cells = new Map([...others, ...(head?.cells ?? [])]);
    return { ...entry, cells, isDamaged: head?.sum !== sumOfCells(others) };
  }

  #own(id: string, epoch: number): JournalEntry | undefined {
    const found = this.#get(id);
    return found?.epoch === epoch && found.ended === null ? found : undefined;
  }

  /** True when {@link #own} finds the session. It is read again only when a session has been taken over. */
  #isCurrent(id: string, epoch: number): boolean {
    if (this.#epochs.get(id) === epoch) return true;
    if (this.#own(id, epoch) === undefined) return false;
    this.#epochs.set(id, epoch);
    return true;
  }

  /** Forgets the epochs when another process may have raised one. */
  #checkTaken(): void {
    const value = this.#db.get(TAKEN);
    const taken = value === undefined ? 0 : Number(Buffer.from(value).toString());
    if (taken !== this.#taken) this.#epochs.clear();
    this.#taken = taken;
  }

  #put(entry: JournalEntry): void {
    void this.#db.put(["entry", entry.id], encodeEntry(entry));
  }

  #change(id: string, head: SessionHead, changes: JournalChanges): void {
    this.#heads.set(id, head);
    const changed = head.change(changes, () => this.#storedHead(id)?.cells ?? new Map());
    for (const name of changed.remove) void this.#db.remove(["cell", id, name]);
    for (const [name, value] of changed.put) void this.#db.put(["cell", id, name], value);
    void this.#db.put(["head", id], changed.head);
  }

  #storedHead(id: string): ReturnType<typeof decodeHead> {
    return decodeHead(id, this.#db.get(["head", id]));
  }

  /** Read again after a takeover, or a transaction that failed. */
  #headOf(id: string): SessionHead {
    return this.#heads.get(id) ?? SessionHead.stored(id, new Map(this.#cells(id)), this.#storedHead(id));
  }

  #removeCells(id: string): void {
    for (const [name] of this.#cells(id)) void this.#db.remove(["cell", id, name]);
    void this.#db.remove(["head", id]);
  }

  #forget(id: string): void {
    this.#epochs.delete(id);
    this.#heads.delete(id);
  }

  #cells(id: string): [string, Uint8Array][] {
    const range = this.#db.getRange({ start: ["cell", id, ""], end: ["cell", id, LAST] });
    return [...range].map(({ key, value }) => [String(key[2]), Uint8Array.from(value)]);
  }

  #transact<T>(action: () => T): T {
    const flags = this.#waits ? ABORTABLE_AND_SYNC : ABORTABLE_AND_SYNC | NO_FLUSH;
    const transact = (): T =>
      this.#db.transactionSync(() => {
        this.#checkTaken();
        return action();
      }, flags);
    return this.#guard(() => (this.#file.mutex as LmdbMutex).run(transact));
  }

  #guard<T>(action: () => T): T {
    try {
      if (this.#isClosed) throw new Error("it is closed");
      return action();
    } catch (error) {
      throw error instanceof JournalError ? error : unavailable(this.#path, error);
    }
  }
}

function toConfigError(error: unknown, message: string): ConfigError {
  return error instanceof ConfigError
    ? error
    : new ConfigError(`${message}: ${(error as Error).message}`, { cause: error });
}
