import type { MaybePromise } from "../../util/types.js";
import type { SessionOpener } from "../attachable-session.js";
import type { SessionHooks } from "../restore/session-hooks.js";
import type { Session } from "../session.js";
import type { WorkerLoad } from "./capacity.js";
import type { ResumeLimits } from "./session-keeper.js";

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
  /**
   * Plugins decide whether a peer may open a session. What is returned is called once, when the session has ended or could
   * not open. @throws SessionRejectedError, or rejects with it.
   */
  admit?: ((opener: SessionOpener) => MaybePromise<(() => void) | undefined>) | undefined;
  /** The hooks of plugins in a session. */
  hooksFor?: ((session: Session, opener: SessionOpener) => SessionHooks | undefined) | undefined;
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
