import type { IncomingMessage } from "node:http";
import type { ValidationIssue } from "../../errors.js";
import { parseJson } from "../../protocol/json.js";
import type { JsonObject } from "../../protocol/messages.js";
import { isObject } from "../frame.js";

export class BodyTooLargeError extends Error {}

/** @throws BodyTooLargeError as soon as more than `limit` bytes have come. */
export async function readBody(request: IncomingMessage, limit: number): Promise<string> {
  const tooLarge = (): BodyTooLargeError => new BodyTooLargeError(`the body is larger than ${limit} bytes`);
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

export type ParsedBody = { ok: true; value: JsonObject | undefined } | { ok: false; issues: ValidationIssue[] };

/** Reads a JSON object; undefined for an empty body. The issues are those of the reference. */
export function parseBody(request: IncomingMessage, text: string): ParsedBody {
  if (text === "") return { ok: true, value: undefined };
  const type = request.headers["content-type"] ?? "";
  if (!/^application\/([\w.+-]+\+)?json\b/i.test(type)) return notAnObject(text.slice(0, 200));
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    const reason = (error as Error).message;
    const position = Number(/position (\d+)/.exec(reason)?.[1] ?? 0);
    const msg = "the body is not JSON";
    return failed({ type: "json_invalid", loc: ["body", position], msg, input: {}, ctx: { error: reason } });
  }
  return isObject(value) ? { ok: true, value } : notAnObject(Array.isArray(value) ? value.slice(0, 3) : value);
}

function notAnObject(input: unknown): ParsedBody {
  const msg = "the body must be a JSON object, sent with a JSON content type";
  return failed({ type: "model_attributes_type", loc: ["body"], msg, input });
}

function failed(issue: ValidationIssue): ParsedBody {
  return { ok: false, issues: [issue] };
}
