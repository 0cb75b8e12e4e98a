import type { SessionOpener } from "#core/session/attachable-session.js";
import type { DurableSession } from "./durable-session.js";

/** Keeps resumable sessions for other processes, and restores theirs. */
export interface SessionStore {
  /** The slots that are kept for sessions of the journal whose clients may come back. */
  readonly reserved: number;
  /**
   * Stores a new resumable session; `lost`: why the one before it at its address was lost.
   * @throws SessionRejectedError (JOURNAL_UNAVAILABLE, SESSION_ELSEWHERE for an address).
   */
  add(durableSession: DurableSession, lost?: string): Promise<void>;
  /**
   * Who has the session: a sibling is another worker of this server, as an owner; without one this worker may take it over.
   * Undefined if the journal does not know the id.
   */
  holderOf(id: string): Promise<{ sibling?: string } | undefined>;
  /**
   * Restores a session that this process does not have. Resolves with the reason if it cannot be restored.
   * @throws SessionRejectedError (CAPACITY_REACHED, JOURNAL_UNAVAILABLE, SESSION_ELSEWHERE): it may be possible later.
   */
  takeOver(id: string, token: string, opener: SessionOpener): Promise<string | undefined>;
  /**
   * Restores the session of an address that this process does not have, or marks the address as lost or free.
   * @throws SessionRejectedError as {@link takeOver}.
   */
  restore(address: string, opener: SessionOpener): Promise<void>;
  /** Finds out whether other servers can take sessions over in the middle of an episode. Never rejects. */
  findTakers(isDraining: boolean): Promise<void>;
  /** Leaves all sessions that can be restored to the next process. */
  releaseAll(): void;
}
