import { OpenEnvError } from "#core/errors.js";
import type { Eventual } from "#core/util/types.js";

/** What a commit survives: the end of the process, or also the end of the machine. */
export type Durability = "process" | "disk";

/** One resumable session, as the journal knows it. */
export interface JournalEntry {
  readonly id: string;
  /** SHA-256 of the client's token, hexadecimal. A session by address has the hash of the name here and as its id. */
  readonly tokenHash: string;
  /** Raised by each process that takes the session over: what another one commits with a lower epoch is refused. */
  readonly epoch: number;
  /** The process that has the session, see {@link ownerName}; null once it was released. */
  readonly owner: string | null;
  /**
   * When the session ended, in milliseconds since 1970, and why; null while it can be resumed. The reason is empty when
   * its client has ended a session by address: the address is free.
   */
  readonly ended: { readonly at: number; readonly reason: string } | null;
}

/** A session with all that is stored of it. */
export interface JournalRecord extends JournalEntry {
  readonly cells: ReadonlyMap<string, Uint8Array>;
  /** The cells are not what was stored: nothing of them may be used. */
  readonly isDamaged?: boolean;
}

/** What one commit changes, completely or not at all. A session is a set of cells with names and values. */
export interface JournalChanges {
  readonly put: readonly (readonly [name: string, value: Uint8Array])[];
  readonly remove: readonly string[];
}

/** Reads a journal, also while servers use it. */
export interface JournalReader extends AsyncDisposable {
  /** All sessions, also those that have ended. */
  list(): Eventual<JournalEntry[]>;
  /** All that is stored of a session, as it is now; its owner keeps it. */
  read(id: string): Eventual<JournalRecord | undefined>;
  close(): Promise<void>;
}

/**
 * Stores resumable sessions outside of the process that has them. Each session has one owner. Methods that fail because of
 * the store throw {@link JournalError} with JOURNAL_UNAVAILABLE; the same call may be repeated later.
 */
export interface Journal extends JournalReader {
  /**
   * Stores a session of this process that has just been opened. Returns its epoch: 1, or the next one for an id whose
   * session has ended. @throws JournalError SESSION_ELSEWHERE when there is one that has not ended.
   */
  create(id: string, tokenHash: string): Eventual<number>;
  find(id: string): Eventual<JournalEntry | undefined>;
  /** True when a process that still runs has the session. */
  isHeld(entry: JournalEntry): Eventual<boolean>;
  /**
   * Makes this process the owner and raises the epoch, in one step. Undefined for a session that is unknown or has ended.
   * @throws JournalError SESSION_ELSEWHERE when another process that still runs has it.
   */
  takeOver(id: string): Eventual<JournalRecord | undefined>;
  /** @throws JournalError EPOCH_LOST, and changes nothing, when another process has taken the session over. */
  commit(id: string, epoch: number, changes: JournalChanges): Eventual<void>;
  /** Gives the session up for another process. Does nothing with an old epoch. */
  release(id: string, epoch: number): Eventual<void>;
  /** Ends the session and drops its cells; the reason is kept until {@link removeEnded}. Does nothing with an old epoch. */
  end(id: string, epoch: number, reason: string): Eventual<void>;
  /**
   * Called when another server wants a session of this one, whose client has come to it. Journals of one machine have no
   * such message.
   */
  onWanted?: ((id: string) => void) | undefined;
  /**
   * Stops to offer this process to others, and returns those that take sessions over. Missing where only the next process
   * of the same server does.
   */
  takers?(): Promise<readonly JournalTaker[]>;
  /** Forgets those of the listed sessions that ended before this time, in milliseconds since 1970. */
  removeEnded(listed: readonly JournalEntry[], before: number): Eventual<void>;
}

/** A process that takes sessions over. */
export interface JournalTaker {
  readonly owner: string;
  /** What it can restore: equal for the same contract and the same `snapshotVersion`. */
  readonly version: string;
}

export type JournalErrorCode = "JOURNAL_UNAVAILABLE" | "SESSION_ELSEWHERE" | "EPOCH_LOST";

export class JournalError extends OpenEnvError {
  declare readonly code: JournalErrorCode;
  /** What is stored of the session is damaged: the same call fails again. */
  readonly isDamage: boolean;

  constructor(code: JournalErrorCode, message: string, options: ErrorOptions & { isDamage?: boolean } = {}) {
    super(code, message, options);
    this.isDamage = options.isDamage ?? false;
  }
}

/** Why an instance of a session is closed. */
export const TAKEN_OVER = "another process has taken over the session";
export const DAMAGED = "what the journal has of it is damaged";

/**
 * A session of which only the id is known, because its entry is damaged: it has ended. Its epoch is higher than any that
 * a process may still have.
 */
export function damagedEntry(id: string): JournalEntry {
  const at = Date.now();
  return { id, tokenHash: "", epoch: at, owner: null, ended: { at, reason: DAMAGED } };
}

/** True when {@link Journal.removeEnded} forgets a session. */
export function hasEndedBefore({ ended }: JournalEntry, before: number): boolean {
  return ended !== null && ended.at < before;
}

export function epochLost(id: string, epoch: number): JournalError {
  const message = `Another process has taken over session ${id} after epoch ${epoch}: close this instance.`;
  return new JournalError("EPOCH_LOST", message);
}

export function isElsewhere(id: string): JournalError {
  const message = `Session ${id} is held by another server that is still running: connect to that one, or try again later.`;
  return new JournalError("SESSION_ELSEWHERE", message);
}

/** The part of a store that has one session is damaged, and others are not. */
export function sessionDamaged(where: string, error: unknown): JournalError {
  const message = `What the journal ${where} has of the session is damaged: ${(error as Error).message}`;
  return new JournalError("JOURNAL_UNAVAILABLE", message, { cause: error, isDamage: true });
}

export function unavailable(where: string, error: unknown): JournalError {
  const reason = error instanceof Error ? error.message : String(error);
  return new JournalError("JOURNAL_UNAVAILABLE", `The journal ${where} cannot be used: ${reason}`, { cause: error });
}
