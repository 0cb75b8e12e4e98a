import { parseJson } from "../../protocol/codec/json.js";
import type { JsonObject } from "../../protocol/messages.js";
import { requestOf } from "../../protocol/resume.js";
import { type ErrorMessage, errorMessage, invalidMessage } from "../../session/messages/message-codec.js";
import type { Resumption } from "../../session/resume/resumptions.js";
import { isObject } from "../../util/is-object.js";
import { missingField } from "../../validation/errors/issues.js";
import type { EncodedReply } from "./encode-reply.js";

type Answer = EncodedReply | Promise<EncodedReply>;

/** A request that is executed now; `store` keeps its answer before it is sent. */
interface NewRequest {
  frame: JsonObject;
  store(answer: Answer): Answer;
}

const TOKEN_HASH = /^[0-9a-f]{64}$/;
const MAX_TOKEN_LENGTH = 256;

/** The hash or the token of the first frame, or the error that answers it. */
export function readResume(frame: unknown, isNew: boolean): string | ErrorMessage {
  const data = isObject(frame) && frame["type"] === "resume" ? frame["data"] : undefined;
  const value = isObject(data) ? data[isNew ? "token_hash" : "token"] : undefined;
  if (typeof value === "string" && (isNew ? TOKEN_HASH.test(value) : value.length <= MAX_TOKEN_LENGTH)) return value;
  const shape = isNew
    ? '{"type":"resume","data":{"token_hash":"<SHA-256 of your token, 64 lower-case hexadecimal digits>"}}'
    : '{"type":"resume","data":{"token":"<the token of the session>"}}';
  const issue = { type: "value_error", loc: ["data"], msg: `the first frame must be ${shape}`, input: null };
  return invalidMessage([issue]);
}

/** Decides by the sequence number whether a frame is executed, answered from the store or refused. */
export function admitFrame(
  { answers }: Resumption,
  frame: unknown,
  raw: string | Uint8Array,
  decode: (raw: Uint8Array) => unknown,
): NewRequest | ErrorMessage | { stored: Answer } {
  // A frame that is not an object, or closes the session, needs no number.
  if (!isObject(frame) || (frame["type"] === "close" && !("seq" in frame))) {
    return { frame: frame as JsonObject, store: (answer) => answer };
  }
  const { seq, ack, ...rest } = frame;
  if (!isCount(seq) || seq === 0) return invalidNumber("seq", frame, "a positive integer");
  if (!isCount(ack) || ack >= seq) return invalidNumber("ack", frame, "0 or the highest seq answered, below seq");
  answers.acknowledge(ack);
  const kept = typeof raw === "string" ? raw : Uint8Array.from(raw);
  const admitted = answers.admit(seq, kept, (stored) => {
    const before = typeof stored === "string" ? parseJson(stored) : decode(stored);
    return canonical(requestOf(before as JsonObject)) === canonical(requestOf(frame));
  });
  if (admitted === undefined) {
    const store = (answer: Answer): Answer => {
      answers.store(seq, answer);
      return answer;
    };
    return { frame: rest, store };
  }
  if (typeof admitted === "object" && "code" in admitted) return errorMessage(admitted.code, admitted.message);
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

/** The same text for the same request, in whatever order its keys were written. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isObject(inner) && !ArrayBuffer.isView(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
