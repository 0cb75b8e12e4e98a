import { abortedBeforeSent } from "../failures.js";

/** Runs work in the order of arrival, up to a limit on the total weight that runs at the same time. */
export interface Limiter {
  /** Work heavier than the limit runs alone. @throws ConnectionError ABORTED when the signal ends the wait. */
  run<T>(weight: number, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
}

interface Waiter {
  weight: number;
  enter(): void;
}

export function createLimiter(limit: number): Limiter {
  const waiting = new Set<Waiter>();
  let running = 0;

  const admit = (): void => {
    for (const next of waiting) {
      if (running > 0 && running + next.weight > limit) return;
      running += next.weight;
      next.enter();
    }
  };

  const enter = (weight: number, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortedBeforeSent(signal));
      const settle = (): void => {
        waiting.delete(waiter);
        signal?.removeEventListener("abort", onAbort);
      };
      const onAbort = (): void => {
        settle();
        reject(abortedBeforeSent(signal));
        admit();
      };
      const waiter: Waiter = {
        weight,
        enter: () => {
          settle();
          resolve();
        },
      };
      waiting.add(waiter);
      signal?.addEventListener("abort", onAbort);
      admit();
    });

  return {
    run: async (weight, signal, work) => {
      await enter(weight, signal);
      try {
        return await work();
      } finally {
        running -= weight;
        admit();
      }
    },
  };
}
