import { setTimeout as sleep } from "node:timers/promises";
import { isThenable } from "#core/util/async/thenable.js";
import type { Eventual } from "#core/util/types.js";
import { DAMAGED, type Journal, type JournalChanges, JournalError, TAKEN_OVER } from "../journals/journal.js";

/** What the cells of a session are written with. */
export interface WriterParts {
  journal: Journal;
  /** Called when nothing of the session can be stored any more: its instance here must be closed. */
  onLost(reason: string): void;
  /** Called when a commit has succeeded, which began then, by `performance.now()`. */
  onCommit?: ((since: number) => void) | undefined;
}

/** The wait before a commit is repeated: the first time, and at most. */
const RETRY_MS = 50;
const MAX_RETRY_MS = 2_000;
const NOTHING: readonly string[] = [];

/** Collects changes of the cells of one session, and commits them in order. */
export class JournalWriter {
  /** Changes with every process that restores the session. */
  readonly epoch: number;
  readonly #id: string;
  readonly #parts: WriterParts;
  readonly #put = new Map<string, Uint8Array>();
  readonly #remove = new Set<string>();
  /** The last commit, until it is written: the next one must not overtake it. */
  #writing: Promise<void> | undefined;
  #closed = false;

  constructor(id: string, epoch: number, parts: WriterParts) {
    this.#id = id;
    this.epoch = epoch;
    this.#parts = parts;
  }

  /** Nothing is written any more. */
  get isClosed(): boolean {
    return this.#closed;
  }

  get isWriting(): boolean {
    return this.#writing !== undefined;
  }

  /** True when a cell is to be written with the next commit. */
  get hasNew(): boolean {
    return this.#put.size > 0;
  }

  put(cell: string, value: Uint8Array): void {
    this.#remove.delete(cell);
    this.#put.set(cell, value);
  }

  remove(cell: string): void {
    this.#put.delete(cell);
    this.#remove.add(cell);
  }

  /** Commits all changes at once. While the journal cannot be written, the commit is repeated. */
  commit(): Eventual<void> {
    if (this.#put.size === 0 && this.#remove.size === 0) return undefined;
    const changes = { put: [...this.#put], remove: this.#remove.size === 0 ? NOTHING : [...this.#remove] };
    this.#put.clear();
    this.#remove.clear();
    const { journal, onCommit } = this.#parts;
    const since = onCommit === undefined ? 0 : performance.now();
    const write = (): Eventual<void> => journal.commit(this.#id, this.epoch, changes);
    try {
      const written = this.#writing === undefined ? write() : this.#writing.then(write);
      if (isThenable(written)) return this.#wait(written, write, since);
      onCommit?.(since);
      return undefined;
    } catch (error) {
      return this.#wait(Promise.reject(error), write, since);
    }
  }

  /** Ends the session in the journal; nothing is written after it. */
  end(reason: string): void {
    this.#finish((journal) => journal.end(this.#id, this.epoch, reason));
  }

  /** Leaves the session to another process, after these changes; nothing is written after it. */
  release(last: JournalChanges | undefined): void {
    this.#finish(async (journal) => {
      // Both at once, because the journal may be closing.
      const written = last && journal.commit(this.#id, this.epoch, last);
      await Promise.all([written, journal.release(this.#id, this.epoch)]);
    });
  }

  #wait(written: PromiseLike<void>, write: () => Eventual<void>, since: number): Promise<void> {
    const succeed = (): void => {
      this.#parts.onCommit?.(since);
      if (this.#writing === done) this.#writing = undefined;
    };
    const done = Promise.resolve(written).then(succeed, (error) => this.#repeat(write, error).then(succeed));
    this.#writing = done;
    return done;
  }

  /** @throws JournalError for a session that has ended or belongs to another process. */
  async #repeat(write: () => Eventual<void>, first: unknown): Promise<void> {
    let error = first;
    for (let tries = 0; ; tries++) {
      if (!(error instanceof JournalError)) throw error;
      if ((error.code === "EPOCH_LOST" || error.isDamage) && !this.#closed) {
        this.#closed = true;
        this.#parts.onLost(error.isDamage ? DAMAGED : TAKEN_OVER);
      }
      // The caller must learn that its event may not be stored.
      if (this.#closed) throw new JournalError("EPOCH_LOST", "the session has ended here", { cause: error });
      await sleep(Math.min(RETRY_MS * 2 ** tries, MAX_RETRY_MS), undefined, { ref: false });
      try {
        return await write();
      } catch (next) {
        error = next;
      }
    }
  }

  #finish(write: (journal: Journal) => Eventual<void>): void {
    if (this.#closed) return;
    this.#closed = true;
    // A journal that is away now may take the session for one that can be resumed: its window ends it.
    void (async () => write(this.#parts.journal))().catch(() => {});
  }
}
