import { isThenable } from "./thenable.js";

/** Calls `next` immediately with a value, or later with the value of a promise. */
export function after<T, R>(value: T | PromiseLike<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value);
}
