import { MAX_OUTPUT_DEPTH } from "../../protocol/codec/json.js";
import { InvalidOutputError } from "../../validation/json-safe.js";

/**
 * The value as it can go to another thread: class instances with `toJSON` become what it gives, because their methods would
 * stay behind. The caller's value is never changed.
 * @throws InvalidOutputError for what is far deeper than any answer may be.
 */
export function toCloneable(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST) throw new InvalidOutputError(`nested deeper than ${DEEPEST} levels or contains itself`);
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined;
    for (let i = 0; i < value.length; i++) {
      const item = toCloneable(value[i], depth + 1);
      if (item !== value[i]) (copy ??= value.slice())[i] = item;
    }
    return copy ?? value;
  }
  if (!isLiteral(value)) {
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON !== "function" || isNative(value)) return value;
    return toCloneable(toJSON.call(value, ""), depth + 1);
  }
  let copy: Record<string, unknown> | undefined;
  for (const [key, member] of Object.entries(value)) {
    const crossed = toCloneable(member, depth + 1);
    if (crossed === member) continue;
    copy ??= { ...value };
    Object.defineProperty(copy, key, { value: crossed, enumerable: true, writable: true, configurable: true });
  }
  return copy ?? value;
}

/** What is less deep and still too deep is refused by who writes the answer, and can say where it is. */
const DEEPEST = 2 * MAX_OUTPUT_DEPTH;

function isLiteral(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Crosses as it is. */
function isNative(value: object): boolean {
  return value instanceof Date || Buffer.isBuffer(value);
}
