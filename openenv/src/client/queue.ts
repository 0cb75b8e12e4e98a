import type { ConnectionError } from "../errors.js";
import { abortedBeforeSent } from "./turns.js";

/** Lets callers in one after the other, in the order in which they came. */
export interface Queue {
  /** Resolves when it is the caller's turn; each turn ends with `leave`. An abort before that only gives up the place. */
  enter(signal: AbortSignal | undefined): Promise<void>;
  leave(): void;
  /** Rejects all that wait. */
  clear(error: ConnectionError): void;
}

interface Waiting {
  resolve(): void;
  reject(error: ConnectionError): void;
}

export function createQueue(): Queue {
  const waiting = new Set<Waiting>();
  let busy = false;

  return {
    enter: (signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(abortedBeforeSent(signal));
        if (!busy) {
          busy = true;
          return resolve();
        }
        const onAbort = (): void => waiter.reject(abortedBeforeSent(signal));
        const settle = (): void => {
          waiting.delete(waiter);
          signal?.removeEventListener("abort", onAbort);
        };
        const waiter: Waiting = {
          resolve: () => {
            settle();
            resolve();
          },
          reject: (error) => {
            settle();
            reject(error);
          },
        };
        waiting.add(waiter);
        signal?.addEventListener("abort", onAbort);
      }),
    leave: () => {
      const [next] = waiting;
      if (next) next.resolve();
      else busy = false;
    },
    clear: (error) => {
      for (const waiter of [...waiting]) waiter.reject(error);
    },
  };
}
