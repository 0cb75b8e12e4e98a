import { abortedBeforeSent } from "../queue.js";

/** Lets work in as long as no more than `limit` sessions are asked at the same time; the rest waits in its order. */
export interface Gate {
  /** Does `work`, which asks so many sessions. @throws ConnectionError ABORTED when the signal ends the waiting. */
  pass<T>(weight: number, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
}

interface Waiting {
  weight: number;
  enter(): void;
}

export function createGate(limit: number): Gate {
  const waiting = new Set<Waiting>();
  let inside = 0;

  const admit = (): void => {
    for (const next of waiting) {
      if (inside > 0 && inside + next.weight > limit) return;
      waiting.delete(next);
      inside += next.weight;
      next.enter();
    }
  };

  return {
    pass: async (weight, signal, work) => {
      await new Promise<void>((resolve, reject) => {
        if (signal?.aborted) return reject(abortedBeforeSent(signal));
        const onAbort = (): void => {
          waiting.delete(one);
          reject(abortedBeforeSent(signal));
          admit();
        };
        const one: Waiting = {
          weight,
          enter: () => {
            signal?.removeEventListener("abort", onAbort);
            resolve();
          },
        };
        waiting.add(one);
        signal?.addEventListener("abort", onAbort, { once: true });
        admit();
      });
      try {
        return await work();
      } finally {
        inside -= weight;
        admit();
      }
    },
  };
}
