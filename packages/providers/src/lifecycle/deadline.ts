/** The deadline of a start, combined with the caller's signal. */
export interface Deadline {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Which of the two ended it; undefined until then. */
  readonly reason: "time" | "abort" | undefined;
  /** The result of the work, or a rejection when the deadline or the signal comes first. */
  race<T>(work: Promise<T>): Promise<T>;
  /** Stops the timer. */
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
  const timer = setTimeout(() => stop("time", new Error(`timed out after ${timeoutMs} ms`)), timeoutMs);
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

/** Resolves when the work has settled or the time is up. */
export async function settled(work: Promise<unknown>, limitMs: number): Promise<void> {
  const limit = createDeadline(limitMs, undefined);
  await limit.race(work).catch(() => {});
  limit.end();
}
