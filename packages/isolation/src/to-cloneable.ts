import { MAX_OUTPUT_DEPTH } from "#core/protocol/codec/json.js";
import { InvalidOutputError } from "#core/validation/json-safe.js";

/**
 * Converts a value for structured cloning: class instances with `toJSON` become its result, because methods cannot be
 * cloned. The caller's value is never changed.
 * @throws InvalidOutputError when the value is nested far deeper than an answer may be.
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

/** Values between MAX_OUTPUT_DEPTH and this limit are rejected later, by validation, with the path in the message. */
const DEEPEST = 2 * MAX_OUTPUT_DEPTH;

function isLiteral(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** True for instances that structured cloning supports. */
function isNative(value: object): boolean {
  return value instanceof Date || Buffer.isBuffer(value);
}
