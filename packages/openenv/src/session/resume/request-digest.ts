import { createHash } from "node:crypto";
import { isObject } from "../../util/is-object.js";

/** A text that is the same for the same request, in whatever order its keys were written, with bytes as base64. */
export function digestRequest({ type, data }: { type?: unknown; data?: unknown }): string {
  return createHash("sha256").update(canonical({ type, data })).digest("base64");
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value;
    return JSON.stringify(Buffer.from(buffer, byteOffset, byteLength).toString("base64"));
  }
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}
