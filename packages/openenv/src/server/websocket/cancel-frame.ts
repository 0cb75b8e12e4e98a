import { isObject } from "../../util/is-object.js";

/** A frame of this length or less can be `{"type":"cancel","data":{"seq":9007199254740991}}`, with spaces. */
const MAX_LENGTH = 100;

/** Reads a frame `cancel`, which has no answer. Undefined for any other frame. */
export function readCancel(text: Buffer | string): { seq: number | undefined } | undefined {
  if (text.length > MAX_LENGTH || !text.includes('"cancel"')) return undefined;
  try {
    const frame: unknown = JSON.parse(text.toString());
    if (!isObject(frame) || frame["type"] !== "cancel") return undefined;
    const { seq } = isObject(frame["data"]) ? frame["data"] : {};
    return seq === undefined || Number.isSafeInteger(seq) ? { seq: seq as number | undefined } : undefined;
  } catch {
    return undefined;
  }
}
