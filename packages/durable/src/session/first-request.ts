import { isThenable } from "#core/util/async/thenable.js";
import type { Eventual } from "#core/util/types.js";
import type { JournalRecord } from "../journals/journal.js";
import { CLEAN, RUNNING, readRunning } from "./journal-cells.js";
import type { JournalWriter } from "./journal-writer.js";

/** The restore of another session that may end this process. */
export interface RunningSuspect {
  readonly running: Promise<void> | undefined;
}

/**
 * The first request after a restore. It is stored before it runs, until its answer is: one that is still there after the
 * next restore has ended two processes, and is not executed again.
 */
export class FirstRequest {
  readonly #writer: JournalWriter;
  readonly #suspects: RunningSuspect;
  /** No request has run since the restore. */
  #isNext = false;
  /** The cell that names it is stored. */
  #isMarked = false;
  /** It is being stored. */
  #marking: Promise<boolean> | undefined;
  /** The request in which the process ended that had restored the session before. */
  #crashed: string | undefined;

  constructor(writer: JournalWriter, suspects: RunningSuspect) {
    this.#writer = writer;
    this.#suspects = suspects;
  }

  /** Continues with what the process before this one has stored. */
  restore(record: JournalRecord): void {
    this.#isNext = !record.cells.has(CLEAN);
    this.#isMarked = record.cells.has(RUNNING);
    this.#crashed = readRunning(record);
  }

  /** It has begun, and its answer is not stored; it may have been refused, so that it has none. */
  get hasBegun(): boolean {
    return this.#isMarked && !this.#isNext;
  }

  /**
   * Called before each request is executed; `nameOf`: its number or its digest. True when it must not be executed again,
   * because two processes have ended while they executed it.
   */
  enter(nameOf: () => string): Eventual<boolean> {
    // A request that came later is not executed before the first one.
    if (!this.#isNext || this.#writer.isClosed) return this.#marking?.then(() => false) ?? false;
    const { running } = this.#suspects;
    if (running !== undefined) return running.then(() => this.enter(nameOf));
    const name = nameOf();
    const isCrashed = this.#crashed === name;
    this.#crashed = undefined;
    if (isCrashed) return true;
    this.#isNext = false;
    this.#writer.put(RUNNING, Buffer.from(name));
    this.#isMarked = true;
    const marked = this.#writer.commit();
    if (!isThenable(marked)) return false;
    const end = (): false => {
      this.#marking = undefined;
      return false;
    };
    // Where it fails the session has ended, and refuses the request.
    return (this.#marking = marked.then(end, end));
  }

  /** A request is stored with the next commit. */
  unmark(): void {
    if (this.#isMarked) this.#writer.remove(RUNNING);
    this.#isMarked = false;
  }
}
