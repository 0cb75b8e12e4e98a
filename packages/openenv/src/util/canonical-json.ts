import { encodeBase64 } from "./text/base64.js";

/**
 * JSON in its canonical form (RFC 8785): the same text for the same value, in whatever order its keys were written. As
 * in JSON.stringify, members without a JSON value are omitted and `toJSON` is called; bytes are base64 text.
 * @throws TypeError for a Map or a Set, of which JSON would keep nothing.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (value instanceof Uint8Array) return JSON.stringify(encodeBase64(value));
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return canonicalJson(toJSON.call(value));
  if (value instanceof Map || value instanceof Set) {
    throw new TypeError(`a ${value.constructor.name} has no JSON form: use an object or an array`);
  }
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined || typeof member === "function" || typeof member === "symbol") continue;
    members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${members.join()}}`;
}
