import { isBusy, isCorrupt } from "#core/server/sqlite/database.js";
import { groupBy } from "#core/util/group-by.js";
import { nextTurn } from "#parts/sockets/scheduling";
import { JournalError, sessionDamaged, unavailable } from "../journal.js";
import type { SqliteFile } from "./open-file.js";
import type { Statements } from "./statements.js";

interface Waiting {
  /** The session that it changes; undefined for changes of several. */
  session: string | undefined;
  action: () => unknown;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** What the action has returned or thrown, while its transaction is committed. */
  value?: unknown;
  error?: JournalError | undefined;
}

export interface TurnOptions {
  file: SqliteFile;
  sql: Statements;
  path: string;
  /** Called after a transaction has failed: what was changed in it is not stored. */
  undone(): void;
}

/** When another process has the lock, the next turns try again; later ones wait this long, until the limit. */
const BUSY_TURNS = 2;
const BUSY_WAIT_MS = 1;
const MAX_BUSY_MS = 1_000;

/**
 * Runs the changes of one turn of the event loop in one transaction: to begin and to end one costs more than its writes.
 * When it fails, the changes of each session are tried in a separate one, so that a session whose pages are damaged does
 * not hold those of others. Whatever SQLite throws becomes a {@link JournalError}.
 */
export class TurnTransactions {
  readonly #options: TurnOptions;
  #waiting: Waiting[] = [];
  #busyTurns = 0;
  #busySince = 0;
  #isClosed = false;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  /**
   * An action that throws a {@link JournalError} has changed nothing, and the others of its transaction continue. Any
   * other error undoes the transaction.
   */
  run<T>(session: string | undefined, action: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push({ session, action, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** Reads now. */
  read<T>(action: () => T): T {
    try {
      this.#checkOpen();
      return action();
    } catch (error) {
      throw this.#toJournalError(error);
    }
  }

  /** Reads now, and all statements see one state. */
  readOnce<T>(action: () => T): T {
    return this.read(() => {
      this.#options.sql.beginRead.run();
      try {
        return action();
      } finally {
        quietly(() => this.#options.sql.rollback.run());
      }
    });
  }

  /** Closes the file when nothing waits any more. */
  async close(): Promise<void> {
    this.#flush();
    while (this.#waiting.length > 0) await new Promise<void>(nextTurn);
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.file.close();
  }

  #flush(): void {
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length > 0) this.#runAll(batch);
  }

  #runAll(batch: readonly Waiting[]): void {
    try {
      this.#transact(batch);
      this.#busyTurns = 0;
    } catch (error) {
      if (isBusy(error)) return this.#repeatLater(batch, error);
      this.#options.undone();
      // After a full disk, an empty log takes the next commits without more room.
      quietly(() => this.#options.sql.checkpoint.get());
      const sessions = groupBy(batch, ({ session }) => session);
      if (sessions.size > 1) for (const part of sessions.values()) this.#runAll(part);
      else this.#reject(batch, error);
      return;
    }
    for (const { value, error, resolve, reject } of batch) {
      if (error === undefined) resolve(value);
      else reject(error);
    }
  }

  #transact(batch: readonly Waiting[]): void {
    this.#checkOpen();
    const { file, sql } = this.#options;
    file.check();
    sql.begin.run();
    try {
      for (const one of batch) attempt(one);
      sql.commit.run();
    } catch (error) {
      quietly(() => sql.rollback.run());
      throw error;
    }
  }

  #repeatLater(batch: readonly Waiting[], error: unknown): void {
    if (this.#busyTurns++ === 0) this.#busySince = performance.now();
    if (performance.now() - this.#busySince > MAX_BUSY_MS) {
      this.#busyTurns = 0;
      return this.#reject(batch, error);
    }
    this.#waiting = [...batch, ...this.#waiting];
    if (this.#busyTurns <= BUSY_TURNS) setImmediate(() => this.#flush());
    else setTimeout(() => this.#flush(), BUSY_WAIT_MS);
  }

  #reject(batch: readonly Waiting[], error: unknown): void {
    for (const { reject } of batch) reject(this.#toJournalError(error));
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Error("it is closed");
  }

  #toJournalError(error: unknown): JournalError {
    if (error instanceof JournalError) return error;
    const { path } = this.#options;
    return isCorrupt(error) ? sessionDamaged(path, error) : unavailable(path, error);
  }
}

/** After an error SQLite may have rolled back already, and a checkpoint may find no room either. */
function quietly(action: () => unknown): void {
  try {
    action();
  } catch {}
}

function attempt(one: Waiting): void {
  one.error = undefined;
  try {
    one.value = one.action();
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    one.error = error;
  }
}
