import { createHash } from "node:crypto";
import { parseJson } from "../../protocol/codec/json.js";
import type { JsonObject } from "../../protocol/messages.js";
import { type ErrorMessage, errorMessage, invalidMessage } from "../../session/messages/message-codec.js";
import type { ResumeRequest, Resumption } from "../../session/resume/resumptions.js";
import { isObject } from "../../util/is-object.js";
import { missingField } from "../../validation/errors/issues.js";
import type { EncodedReply } from "./encode-reply.js";

type Answer = EncodedReply | Promise<EncodedReply>;

/** A request that is executed now; `store` keeps its answer before it is sent. */
interface NewRequest {
  frame: JsonObject;
  /** Undefined for a frame that needs no number. */
  seq: number | undefined;
  store(answer: Answer): Answer;
}

const TOKEN_HASH = /^[0-9a-f]{64}$/;
const MAX_TOKEN_LENGTH = 256;
/** Characters of a request that is kept whole. */
const KEPT_WHOLE = 4096;

/** What the first frame contains, or the error that answers it. */
export function readResume(frame: unknown, isNew: boolean): ResumeRequest | ErrorMessage {
  const data = isResume(frame) && isObject(frame["data"]) ? frame["data"] : {};
  const secret = data[isNew ? "token_hash" : "token"];
  const { attempt } = data;
  const isSecret = typeof secret === "string" && (isNew ? TOKEN_HASH.test(secret) : secret.length <= MAX_TOKEN_LENGTH);
  if (isSecret && (attempt === undefined || isCount(attempt))) return { secret, attempt };
  const shape = isNew
    ? '{"type":"resume","data":{"token_hash":"<SHA-256 of your token, 64 lower-case hexadecimal digits>"}}'
    : '{"type":"resume","data":{"token":"<the token of the session>","attempt":<optional: a higher integer each time>}}';
  const issue = { type: "value_error", loc: ["data"], msg: `the first frame must be ${shape}`, input: null };
  return invalidMessage([issue]);
}

export function isResume(frame: unknown): frame is JsonObject {
  return isObject(frame) && frame["type"] === "resume";
}

/** Decides by the sequence number whether a frame is executed, answered from the store or refused. */
export function admitFrame(
  { answers }: Resumption,
  frame: unknown,
  raw: string | Uint8Array,
): NewRequest | { refused: ErrorMessage; seq?: number } | { stored: Answer } {
  // A frame that is not an object, or closes the session, needs no number.
  if (!isObject(frame) || (frame["type"] === "close" && !("seq" in frame))) {
    return { frame: frame as JsonObject, seq: undefined, store: (answer) => answer };
  }
  const { seq, ack, ...rest } = frame;
  if (!isCount(seq) || seq === 0) return { refused: invalidNumber("seq", frame, "a positive integer") };
  if (!isCount(ack) || ack >= seq) {
    return { refused: invalidNumber("ack", frame, "0 or the highest seq answered, below seq") };
  }
  answers.acknowledge(ack);
  const admitted = answers.admit(seq, keep(raw, frame), (stored) => isRepeat(stored, raw, frame));
  if (admitted === undefined) {
    const store = (answer: Answer): Answer => {
      answers.store(seq, answer);
      return answer;
    };
    return { frame: rest, seq, store };
  }
  if (typeof admitted === "object" && "code" in admitted) {
    return { refused: errorMessage(admitted.code, admitted.message), seq };
  }
  return { stored: admitted };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function invalidNumber(name: string, frame: JsonObject, expected: string): ErrorMessage {
  if (!(name in frame)) return invalidMessage([missingField([name], frame)]);
  const input = typeof frame[name] === "object" ? null : frame[name];
  return invalidMessage([{ type: "value_error", loc: [name], msg: `must be ${expected}`, input }]);
}

/** What is kept of a request to compare repeats with: a short one itself, a digest of a long one. */
function keep(raw: string | Uint8Array, frame: JsonObject): string | Uint8Array {
  return typeof raw === "string" && raw.length <= KEPT_WHOLE ? raw : digest(frame);
}

function isRepeat(stored: string | Uint8Array, raw: string | Uint8Array, frame: JsonObject): boolean {
  if (typeof stored !== "string") return digest(frame).equals(stored);
  return stored === raw || digest(parseJson(stored) as JsonObject).equals(digest(frame));
}

function digest({ type, data }: JsonObject): Buffer {
  return createHash("sha256").update(canonical({ type, data })).digest();
}

/** The same text for the same request, in whatever order its keys were written, with bytes as base64. */
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
