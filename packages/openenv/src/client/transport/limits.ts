import { ConnectionError } from "../../errors.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";
import type { CallOptions } from "../options.js";

/**
 * The answer, unless the time is up or the signal is aborted first: then `onLimit` is told, and the promise rejects
 * with CLIENT_TIMEOUT or ABORTED.
 */
export function withLimits<T>(
  answer: Promise<T>,
  { timeoutMs, signal }: CallOptions,
  onLimit: (error: ConnectionError) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (error: ConnectionError): void => {
      settle();
      onLimit(error);
      reject(error);
    };
    const onAbort = (): void =>
      stop(new ConnectionError("ABORTED", "A call was aborted on its way.", { cause: signal?.reason }));
    const onTimeout = (): void =>
      stop(new ConnectionError("CLIENT_TIMEOUT", `No answer came within ${timeoutMs} ms; the connection was dropped.`));
    const timer = timeoutMs !== undefined && timeoutMs <= MAX_TIMER_MS ? setTimeout(onTimeout, timeoutMs) : undefined;
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    signal?.addEventListener("abort", onAbort);
    answer.then(
      (value) => {
        settle();
        resolve(value);
      },
      (error) => {
        settle();
        reject(error);
      },
    );
    if (signal?.aborted) onAbort();
  });
}
