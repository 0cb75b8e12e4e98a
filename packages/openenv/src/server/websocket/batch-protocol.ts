import * as z from "zod";
import type { ValidationIssue } from "../../errors.js";
import {
  BATCH_METHODS,
  type BatchItem,
  type BatchMessage,
  type BatchReply,
  MAX_BATCH_ITEMS,
  type ManyMessage,
} from "../../protocol/batch.js";
import { forkRequest } from "../../protocol/bodies.js";
import type { ClientMessage, JsonObject } from "../../protocol/messages.js";
import type { Batch } from "../../session/batch.js";
import type { SessionCallOptions } from "../../session/calls/call.js";
import type { EnvironmentMessage } from "../../session/calls/peer-request.js";
import { checkMessage, type ErrorMessage, errorMessage, invalidMessage } from "../../session/messages/message-codec.js";
import { isThenable } from "../../util/async/thenable.js";
import { isObject } from "../../util/is-object.js";
import { snapshot } from "../../util/snapshot.js";
import { extraField, missingField, notAnObject } from "../../validation/errors/issues.js";
import { parseInput } from "../../validation/parse-input.js";

type Reply = BatchReply | Promise<BatchReply>;

/** Validates a frame of a socket with `batch`; errors of single items are reported in their answers. */
export function checkBatchFrame(frame: unknown): ClientMessage | BatchMessage | ErrorMessage {
  if (!isObject(frame)) return checkMessage(frame);
  const { type } = frame;
  if (type === "open_many") return checkData(frame, "count", checkCount);
  if (typeof type === "string" && Object.hasOwn(BATCH_METHODS, type)) return checkData(frame, "items", checkItems);
  return checkMessage(frame);
}

export function isBatchMessage(message: ClientMessage | BatchMessage): message is BatchMessage {
  return message.type === "open_many" || Object.hasOwn(BATCH_METHODS, message.type);
}

/** Answers one frame, item by item: an item does not fail because of another. Never throws or rejects. */
export function answerBatch(
  batch: Batch,
  message: BatchMessage,
  options: SessionCallOptions,
): ManyMessage | Promise<ManyMessage> {
  const replies: Reply[] = [];
  let waits = false;
  const count = message.type === "open_many" ? message.data.count : message.data.items.length;
  for (let i = 0; i < count; i++) {
    const reply = message.type === "open_many" ? batch.open() : answerItem(batch, message, { nth: i, options });
    if (isThenable(reply)) waits = true;
    replies.push(reply);
  }
  // Synchronous environments need no promise for each item.
  const many = (items: BatchReply[]): ManyMessage => ({ type: "many", data: { items: nameErrors(items, message) } });
  return waits ? Promise.all(replies).then(many) : many(replies as BatchReply[]);
}

/** Adds to errors of items that no session has answered which session they name. */
function nameErrors(replies: BatchReply[], { data }: BatchMessage): BatchReply[] {
  for (let nth = 0; nth < replies.length; nth++) {
    const reply = replies[nth] as BatchReply;
    if (reply.type !== "error" || reply.data.session !== undefined || !("items" in data)) continue;
    const item = data.items[nth];
    const session = isObject(item) ? item["session"] : undefined;
    if (Number.isSafeInteger(session)) {
      replies[nth] = { ...reply, data: { ...reply.data, session: session as number } };
    }
  }
  return replies;
}

type ItemMessage = Exclude<BatchMessage, { type: "open_many" }>;

function answerItem(batch: Batch, message: ItemMessage, at: { nth: number; options: SessionCallOptions }): Reply {
  const method = BATCH_METHODS[message.type];
  const item = message.data.items[at.nth];
  if (method === "fork") return forkItem(batch, item);
  const issues = itemIssues(item, method);
  if (issues !== undefined) return invalidMessage(issues);
  const { session: number, data } = item as BatchItem;
  const session = batch.get(number);
  if (session === undefined) return notOpen(batch, number);
  if (method === "close") {
    batch.close(number);
    return { type: "closed", data: {} };
  }
  const reply = session.call(itemMessage(method, data), at.options);
  return isThenable(reply) ? reply.then(hold) : hold(reply);
}

const forkItemRequest = forkRequest.extend({ session: z.int() });

function forkItem(batch: Batch, item: unknown): Reply {
  const checked = isObject(item) ? parseInput(forkItemRequest, item) : undefined;
  if (checked === undefined) return invalidMessage([notAnObject([], item)]);
  if (!checked.ok) return invalidMessage(checked.issues);
  const { session: number, ...request } = checked.value as z.output<typeof forkItemRequest>;
  const session = batch.get(number);
  return session === undefined ? notOpen(batch, number) : batch.fork(session, request);
}

function notOpen(batch: Batch, number: number): ErrorMessage {
  const reason = batch.reasonFor(number);
  const why = reason === undefined ? "it was never opened, or it has ended" : `it has ended (${reason})`;
  const message = `No session ${number} is open on this socket: ${why}.`;
  return errorMessage("SESSION_ERROR", message);
}

/** Copies an answer that waits for the others: their environments may change its values before it is encoded. */
function hold<R extends BatchReply>(reply: R): R {
  return reply.type === "error" ? reply : { ...reply, data: snapshot(reply.data) };
}

function itemMessage(method: "reset" | "step" | "state", data: JsonObject | undefined): EnvironmentMessage {
  if (method === "step") return { type: "step", data: data as JsonObject };
  if (method === "state") return { type: "state" };
  return data === undefined ? { type: "reset" } : { type: "reset", data };
}

function itemIssues(item: unknown, method: "reset" | "step" | "state" | "close"): ValidationIssue[] | undefined {
  if (!isObject(item)) return [notAnObject([], item)];
  let issues: ValidationIssue[] | undefined;
  const { session, data } = item;
  const hasData = "data" in item;
  if (!Number.isSafeInteger(session)) {
    const issue = "session" in item ? notANumber(["session"], session) : missingField(["session"], item);
    (issues ??= []).push(issue);
  }
  if (method === "step" && !hasData) (issues ??= []).push(missingField(["data"], item));
  const takesData = method === "step" || method === "reset";
  if (takesData && hasData && !isObject(data)) (issues ??= []).push(notAnObject(["data"], data));
  for (const key in item) {
    if (key === "session" || (key === "data" && takesData)) continue;
    (issues ??= []).push(extraField([key], item[key]));
    break;
  }
  return issues;
}

function checkData(
  frame: JsonObject,
  field: "count" | "items",
  check: (value: unknown) => ValidationIssue | undefined,
): BatchMessage | ErrorMessage {
  const { data } = frame;
  if (!isObject(data))
    return invalidMessage(["data" in frame ? notAnObject(["data"], data) : missingField(["data"], frame)]);
  const issues: ValidationIssue[] = [];
  const issue = field in data ? check(data[field]) : missingField(["data", field], data);
  if (issue !== undefined) issues.push(issue);
  const extra = Object.keys(data).find((key) => key !== field);
  if (extra !== undefined) issues.push(extraField(["data", extra], data[extra]));
  const outer = Object.keys(frame).find((key) => key !== "type" && key !== "data");
  if (outer !== undefined) issues.push(extraField([outer], frame[outer]));
  return issues.length === 0 ? (frame as unknown as BatchMessage) : invalidMessage(issues);
}

function checkCount(count: unknown): ValidationIssue | undefined {
  if (!Number.isSafeInteger(count)) return notANumber(["data", "count"], count);
  if ((count as number) >= 1 && (count as number) <= MAX_BATCH_ITEMS) return undefined;
  const msg = `must be from 1 to ${MAX_BATCH_ITEMS}`;
  return { type: "out_of_range", loc: ["data", "count"], msg, input: count, ctx: { ge: 1, le: MAX_BATCH_ITEMS } };
}

function checkItems(items: unknown): ValidationIssue | undefined {
  const loc = ["data", "items"];
  if (!Array.isArray(items)) return { type: "list_type", loc, msg: "must be a list", input: null };
  if (items.length <= MAX_BATCH_ITEMS) return undefined;
  const msg = `a frame has at most ${MAX_BATCH_ITEMS} items, this one has ${items.length}`;
  return { type: "too_long", loc, msg, input: null, ctx: { max_length: MAX_BATCH_ITEMS, actual_length: items.length } };
}

function notANumber(loc: string[], input: unknown): ValidationIssue {
  return { type: "int_type", loc, msg: "must be an integer", input: typeof input === "object" ? null : input };
}
