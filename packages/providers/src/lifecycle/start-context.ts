/** A started server, before it is known to be ready. */
export interface AcquiredServer {
  /** Its URL; of several, the first that answers a reset is used. */
  url: string | readonly string[];
  /** Returns the last lines of its output; also called after it has ended. */
  logs(): Promise<string>;
  /** Resolves with the reason (`The container exited with code 3`) when it ends by itself; `signal` stops the watch. */
  ended?(signal: AbortSignal): Promise<string>;
  /** Headers of the readiness check, for a server that requires a token. */
  headers?: Readonly<Record<string, string>>;
}

/** A start in progress. */
export interface StartContext {
  /** Aborted at the deadline or by the caller; pass it to everything that waits. */
  readonly signal: AbortSignal;
  /** True once the start has failed: the cleanup then need not shut down gracefully. */
  readonly failed: boolean;
  /**
   * Registers a cleanup for a resource. Cleanups run once, in reverse order, at `close()` or when the start fails. They
   * get no signal: they also run after the deadline.
   */
  onCleanup(release: () => Promise<void> | void): void;
  /** Reports progress to the caller, in words that continue `while …` (`pulling echo-env`). */
  progress(stage: string): void;
  /** Sets the log source for the error, in case `acquire` itself fails later. */
  running(acquired: Pick<AcquiredServer, "logs">): void;
}
