import type { SessionOpener } from "../attachable-session.js";
import type { DurableSession } from "../durable/durable-session.js";
import type { ResumeLimits } from "../durable/durable-sessions.js";
import type { Session } from "../session.js";
import type { WorkerLoad } from "./capacity.js";

export interface SessionsOptions {
  maxConcurrentEnvs: number;
  /** Milliseconds without a request after which a session without a socket ends; null for no timeout. */
  sessionTimeoutMs: number | null;
  /** Milliseconds without a request after which a session with a connection gives way to another client; default never. */
  sessionIdleMs?: number | undefined;
  /** Maximum number of peers that wait for a session at capacity; default 0. */
  queueSize?: number;
  /** Milliseconds after which a waiting peer is rejected. */
  queueTimeoutMs?: number;
  resume?: ResumeLimits;
  /** The workers of this server, which all count for the reported capacity. */
  cluster?: Workers | undefined;
}

/** The workers of this server, as one of them sees them. */
export interface Workers {
  /** The number of this worker. */
  readonly number: number;
  /** Reports a changed load. */
  changed(): void;
  /** The load of each worker. */
  loads(): WorkerLoad[];
  /** The other worker that the id of a session names; undefined when it names this worker or none that runs. */
  workerOf(id: string): number | undefined;
  /** Asks the other workers which of them has the session of an id. */
  workerWith(id: string): Promise<number | undefined>;
  /** The other worker that has the session of an address, or is to open it; undefined for this worker. */
  workerAt(address: string): Promise<number | undefined>;
}

/** Tracks clients that watch sessions without using them. */
export interface SessionObserver {
  /** A watched session does not end to make room. */
  isWatching(session: Session): boolean;
  /** Called when a session has ended. */
  ended(session: Session, reason: string): void;
}

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
