import * as z from "zod";
import { fieldsOf } from "../../contract/action-variants.js";
import type { Contract } from "../../contract/contract.js";
import { BATCH_METHODS } from "../../protocol/batch.js";
import { isObject } from "../../util/is-object.js";
import { encodeBase64 } from "../../util/text/base64.js";

/**
 * Converts the byte arrays of a binary frame: those in a bytes field of the action or the reset stay bytes, all others
 * become base64 text, as in JSON. So an environment receives only values that it could receive in JSON.
 */
export function createByteReader({ action, reset }: Contract): (frame: unknown) => unknown {
  const fields: Record<string, Set<string>> = { step: byteFields(fieldsOf(action)), reset: byteFields(reset.shape) };
  fields["step_many"] = fields["step"] as Set<string>;
  fields["reset_many"] = fields["reset"] as Set<string>;

  return (frame) => {
    const type = isObject(frame) ? String(frame["type"]) : "";
    const kept = Object.hasOwn(fields, type) ? fields[type] : undefined;
    const readData = (data: unknown) =>
      change(data, (key, member) => (kept?.has(key) && member instanceof Uint8Array ? member : toText(member)));
    const readItem = (item: unknown) =>
      change(item, (key, member) => (key === "data" ? readData(member) : toText(member)));
    const readItems = (items: unknown) => (Array.isArray(items) ? items.map(readItem) : toText(items));
    if (!Object.hasOwn(BATCH_METHODS, type)) return readItem(frame);
    return change(frame, (key, member) =>
      key === "data"
        ? change(member, (name, value) => (name === "items" ? readItems(value) : toText(value)))
        : toText(member),
    );
  };
}

/** Changes objects in place: the decoder has just created them. */
function change(value: unknown, read: (key: string, member: unknown) => unknown): unknown {
  if (!isObject(value) || value instanceof Uint8Array) return toText(value);
  for (const key in value) value[key] = read(key, value[key]);
  return value;
}

function toText(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return encodeBase64(value);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (typeof value[i] === "object") value[i] = toText(value[i]);
    return value;
  }
  const members = value as Record<string, unknown>;
  for (const key in members) if (typeof members[key] === "object") members[key] = toText(members[key]);
  return value;
}

/** The names of the fields that are byte arrays or images, also optional ones. */
export function byteFields(fields: z.core.$ZodShape): Set<string> {
  const names = Object.keys(fields).filter((name) => takesBytes(fields[name]));
  return new Set(names);
}

function takesBytes(field: z.core.$ZodType | undefined): boolean {
  for (let at = field; at !== undefined; at = (at._zod.def as { innerType?: z.core.$ZodType }).innerType) {
    const meta = z.globalRegistry.get(at);
    if (meta?.["format"] === "binary" || meta?.["contentMediaType"] === "image/*") return true;
  }
  return false;
}
