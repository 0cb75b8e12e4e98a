import { MAX_OUTPUT_DEPTH } from "../../protocol/codec/json.js";
import { decodeBase64, encodeBase64 } from "../../util/text/base64.js";

/** The only key of an object that stands for bytes in the JSON of a snapshot. */
const KEY = "$bytes";

/** Copies of the objects and lists that contain a Uint8Array, which becomes an object with base64. */
export function encodeBytes(value: unknown): unknown {
  return change(value, 0, (one) => {
    if (one instanceof Uint8Array) return { [KEY]: encodeBase64(one) };
    // An object of the author that looks like bytes is nested, so that it is not read as such.
    return isMarked(one) ? { [KEY]: { ...one } } : undefined;
  });
}

/** The reverse of {@link encodeBytes}. */
export function decodeBytes(value: unknown): unknown {
  return change(value, 0, (one) => {
    if (!isMarked(one)) return undefined;
    return typeof one[KEY] === "string" ? decodeBase64(one[KEY]) : one[KEY];
  });
}

/** Replaces objects for which `replace` returns something. What is nested too deep is left to the check of JSON. */
function change(value: unknown, depth: number, replace: (one: object) => unknown): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_OUTPUT_DEPTH) return value;
  const replaced = replace(value);
  if (replaced !== undefined) return replaced;
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value;
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    const changed = change(member, depth + 1, replace);
    if (changed !== member) (copy ??= (Array.isArray(value) ? value.slice() : { ...value }) as never)[key] = changed;
  }
  return copy ?? value;
}

function isMarked(value: object): value is { [KEY]: unknown } {
  return KEY in value && Object.keys(value).length === 1;
}
