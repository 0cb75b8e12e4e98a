import { ConnectionError } from "../../errors.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";
import type { CallOptions } from "../options.js";

const ABORTED_LATE =
  "The call was aborted after it was sent. It could not be cancelled, because the server has not confirmed that it can " +
  "cancel calls.";

/**
 * Resolves with the answer. After the timeout or an abort it calls `onLimit` and rejects with CLIENT_TIMEOUT or
 * ABORTED.
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
    const onAbort = (): void => stop(new ConnectionError("ABORTED", ABORTED_LATE, { cause: signal?.reason }));
    const onTimeout = (): void =>
      stop(new ConnectionError("CLIENT_TIMEOUT", `No answer within ${timeoutMs} ms; the connection was closed.`));
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
