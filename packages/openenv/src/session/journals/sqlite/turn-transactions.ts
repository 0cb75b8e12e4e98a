import { nextTurn } from "../../../util/async/next-turn.js";
import { groupBy } from "../../../util/group-by.js";
import { JournalError } from "../journal.js";

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
  /** Runs an action in one transaction, and undoes all of it when it throws. */
  transact<T>(action: () => T): T;
  /** Called after a transaction has failed: what was changed in it is not stored. */
  undone(): void;
  /** Another process has the lock, and nothing was tried: the transaction is repeated in a later turn. */
  isBusy(error: unknown): boolean;
}

/** When another process has the lock, the next turns try again; later ones wait this long, until the limit. */
const BUSY_TURNS = 2;
const BUSY_WAIT_MS = 1;
const MAX_BUSY_MS = 1_000;

/**
 * Runs the changes of one turn of the event loop in one transaction: to begin and to end one costs more than its writes.
 * When it fails, the changes of each session are tried in a separate one, so that a session whose pages are damaged does
 * not hold those of others.
 */
export class TurnTransactions {
  readonly #options: TurnOptions;
  #waiting: Waiting[] = [];
  #busyTurns = 0;
  #busySince = 0;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  /**
   * An action that throws a {@link JournalError} has changed nothing, and the others of its transaction continue. Any
   * other error undoes the transaction.
   */
  run<T>(session: string | undefined, action: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.flush());
      this.#waiting.push({ session, action, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** Resolves when nothing waits any more. */
  async settle(): Promise<void> {
    this.flush();
    while (this.#waiting.length > 0) await new Promise<void>(nextTurn);
  }

  flush(): void {
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length > 0) this.#transact(batch);
  }

  #transact(batch: readonly Waiting[]): void {
    try {
      this.#options.transact(() => {
        for (const one of batch) attempt(one);
      });
      this.#busyTurns = 0;
    } catch (error) {
      if (this.#options.isBusy(error)) return this.#repeatLater(batch, error);
      this.#options.undone();
      const sessions = groupBy(batch, ({ session }) => session);
      if (sessions.size > 1) for (const part of sessions.values()) this.#transact(part);
      else for (const { reject } of batch) reject(error);
      return;
    }
    for (const { value, error, resolve, reject } of batch) {
      if (error === undefined) resolve(value);
      else reject(error);
    }
  }

  #repeatLater(batch: readonly Waiting[], error: unknown): void {
    if (this.#busyTurns++ === 0) this.#busySince = performance.now();
    if (performance.now() - this.#busySince > MAX_BUSY_MS) {
      this.#busyTurns = 0;
      for (const { reject } of batch) reject(error);
      return;
    }
    this.#waiting = [...batch, ...this.#waiting];
    if (this.#busyTurns <= BUSY_TURNS) setImmediate(() => this.flush());
    else setTimeout(() => this.flush(), BUSY_WAIT_MS);
  }
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
