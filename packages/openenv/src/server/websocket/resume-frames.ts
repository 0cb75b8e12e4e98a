import type { JsonObject } from "../../protocol/messages.js";
import { type ErrorMessage, errorMessage, invalidMessage } from "../../session/messages/message-codec.js";
import type { DurableSession, ResumeRequest } from "../../session/resume/durable-sessions.js";
import { digestRequest } from "../../session/resume/request-digest.js";
import { stepCrashed } from "../../session/resume/step-crashed.js";
import { after } from "../../util/async/after.js";
import { isThenable } from "../../util/async/thenable.js";
import { isObject } from "../../util/is-object.js";
import type { Eventual } from "../../util/types.js";
import { missingField } from "../../validation/errors/issues.js";
import type { EncodedReply } from "./encode-reply.js";

type Answer = EncodedReply | Promise<EncodedReply>;

/** A frame with its values, as it was received, and how another one is read. */
export interface ReceivedFrame<Values = JsonObject> {
  frame: Values;
  raw: EncodedReply;
  read(stored: EncodedReply): unknown;
}

/** A request that is executed now; `store` keeps its answer before it is sent. */
interface NewRequest {
  frame: JsonObject;
  /** Undefined for a frame that needs no number. */
  seq: number | undefined;
  /** Called before it is executed; the answer when it must not be. */
  begin(): Eventual<ErrorMessage | undefined>;
  store(answer: Answer): Answer;
}

const TOKEN_HASH = /^[0-9a-f]{64}$/;
const MAX_TOKEN_LENGTH = 256;
/** The members of a request that is valid. */
const NUMBERED = ["type", "data", "seq", "ack"];
/** Characters or bytes of a request that is kept whole. */
const KEPT_WHOLE = 4096;
/** Begins what is kept of others; no JSON object begins so. */
const DIGEST = "digest:";

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

type Admitted = NewRequest | { refused: ErrorMessage; seq?: number } | { stored: Answer };

/** Decides by the sequence number whether a frame is executed, answered from the store or refused. */
export function admitFrame({ answers, journal }: DurableSession, received: ReceivedFrame<unknown>): Admitted {
  const { frame, raw } = received;
  // A frame that is not an object, or closes the session, needs no number.
  if (!isObject(frame) || frame["type"] === "close") {
    const request = isObject(frame) ? withoutNumbers(frame) : (frame as unknown as JsonObject);
    return { frame: request, seq: undefined, begin: () => undefined, store: (answer) => answer };
  }
  const { seq, ack } = frame;
  if (!isCount(seq) || seq === 0) return { refused: invalidNumber("seq", frame, "a positive integer") };
  if (!isCount(ack) || ack >= seq) {
    return { refused: invalidNumber("ack", frame, "0 or the highest seq answered, below seq") };
  }
  answers.acknowledge(ack);
  const request = keep(raw, frame);
  const admitted = answers.admit(seq, request, (stored) => isRepeat(stored, received as ReceivedFrame));
  if (admitted === undefined) {
    const write = (answer: EncodedReply): Answer => {
      const written = journal?.store({ seq, request, answer }, ack);
      return isThenable(written) ? Promise.resolve(written).then(() => answer) : answer;
    };
    const store = (answer: Answer): Answer => {
      const kept = journal === undefined ? answer : isThenable(answer) ? answer.then(write) : write(answer);
      answers.store(seq, kept);
      return kept;
    };
    const begin = (): Eventual<ErrorMessage | undefined> => journal && after(journal.begin(seq), refuseCrashed);
    return { frame: withoutNumbers(frame), seq, begin, store };
  }
  if (typeof admitted === "object" && "code" in admitted) {
    return { refused: errorMessage(admitted.code, admitted.message), seq };
  }
  return { stored: admitted };
}

function refuseCrashed(isCrashed: boolean): ErrorMessage | undefined {
  return isCrashed ? (stepCrashed("step") as ErrorMessage) : undefined;
}

/** Rest syntax alone would do the same, and cost as much as the rest of this file. */
function withoutNumbers(frame: JsonObject): JsonObject {
  for (const key in frame) {
    if (NUMBERED.includes(key)) continue;
    const { seq, ack, ...request } = frame;
    return request;
  }
  const { type, data } = frame;
  return data === undefined ? { type } : { type, data };
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
function keep(raw: EncodedReply, frame: JsonObject): EncodedReply {
  if (raw.length > KEPT_WHOLE) return DIGEST + digestRequest(frame);
  // A small buffer may be part of a large one, which it would keep.
  return typeof raw === "string" ? raw : new Uint8Array(raw);
}

/** Only a repeat is compared: first as it was received, then by its values. */
function isRepeat(stored: EncodedReply, { frame, raw, read }: ReceivedFrame): boolean {
  if (typeof stored === "string" && stored.startsWith(DIGEST)) return stored === DIGEST + digestRequest(frame);
  if (typeof stored === "string" ? stored === raw : typeof raw !== "string" && Buffer.compare(stored, raw) === 0) {
    return true;
  }
  return digestRequest(read(stored) as JsonObject) === digestRequest(frame);
}
