import type { ResumeLimits } from "../resume/resumptions.js";
import type { Session } from "../session.js";
import type { Cluster } from "./cluster.js";

export interface SessionsOptions {
  maxConcurrentEnvs: number;
  /** Milliseconds without a request after which a session without a socket ends; null for no timeout. */
  sessionTimeoutMs: number | null;
  /** How many peers may wait for a session at capacity; default 0. */
  queueSize?: number;
  /** Milliseconds after which a waiting peer is rejected. */
  queueTimeoutMs?: number;
  resume?: ResumeLimits;
  /** The cluster of this server, whose workers all count for the reported capacity. */
  cluster?: Cluster | undefined;
}

/** Tracks clients that watch sessions without using them. */
export interface SessionObserver {
  /** A watched session does not end to make room. */
  isWatching(session: Session): boolean;
  /** Called when a session has ended. */
  ended(session: Session, reason: string): void;
}
