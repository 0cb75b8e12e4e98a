/** What runs, before it is known to be ready. */
export interface ServerHandle {
  /** Where it will answer; of several, the first that answers a reset is taken. */
  url: string | readonly string[];
  /** The last lines that it wrote; also asked for once it has ended. */
  logs(): Promise<string>;
  /** Resolves with why (`The container exited with code 3`) when it ends by itself; `signal` ends the watching. */
  ended?(signal: AbortSignal): Promise<string>;
  /** Headers of the readiness check, for what answers only to those who carry a token. */
  headers?: Readonly<Record<string, string>>;
}

/** One start on its way. */
export interface StartContext {
  /** Aborted when the time is up or the caller gives up: whatever waits takes it. */
  readonly signal: AbortSignal;
  /** True once the start has failed: what is released then need not end in order. */
  readonly failed: boolean;
  /**
   * Undoes what was just acquired. Run in reverse order, each once: at `close()`, or when the start fails. It takes no
   * signal: what was begun is undone also when the time is up.
   */
  onCleanup(release: () => Promise<void> | void): void;
  /** Tells the caller how far it is, in words that go on `while …` (`pulling echo-env`). */
  progress(stage: string): void;
  /** What is running so far, when `acquire` itself fails later: its log goes into the error. */
  running(acquired: Pick<ServerHandle, "logs">): void;
}
