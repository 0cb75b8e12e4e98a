/** True for what has to be awaited. Awaiting a plain value would cost a turn of the loop on every step. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
