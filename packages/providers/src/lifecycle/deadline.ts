/** The one deadline of a start, joined with the caller's signal. */
export interface Deadline {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Which of the two ended it; nothing while it has not ended. */
  readonly reason: "time" | "abort" | undefined;
  /** The result of the work, or the rejection with which the limit ends first. */
  race<T>(work: Promise<T>): Promise<T>;
  /** Stops the clock. */
  end(): void;
}

export function createDeadline(timeoutMs: number, outer: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  let reason: Deadline["reason"];
  const stop = (why: "time" | "abort", cause: unknown): void => {
    reason ??= why;
    controller.abort(cause);
  };
  const onAbort = (): void => stop("abort", outer?.reason);
  const timer = setTimeout(() => stop("time", new Error(`${timeoutMs} ms are over`)), timeoutMs);
  outer?.addEventListener("abort", onAbort, { once: true });
  if (outer?.aborted) onAbort();
  const { signal } = controller;
  return {
    timeoutMs,
    signal,
    get reason() {
      return reason;
    },
    race: (work) =>
      new Promise((resolve, reject) => {
        const give = (): void => reject(signal.reason);
        signal.addEventListener("abort", give, { once: true });
        work.then(resolve, reject).finally(() => signal.removeEventListener("abort", give));
        if (signal.aborted) give();
      }),
    end: () => {
      clearTimeout(timer);
      outer?.removeEventListener("abort", onAbort);
    },
  };
}
