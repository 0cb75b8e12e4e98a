/** Writes and reads the frames of the extension `batch`. */
import { RemoteError } from "../../errors.js";
import { renderRequest } from "../../protocol/codec/codec.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ReceivedMessage } from "../../protocol/transport.js";
import { isObject } from "../../util/is-object.js";
import { attempt, type CallFailure, isFailure, protocolError, sessionLost, toCallFailure } from "../failures.js";
import type { Method } from "../operations.js";

/** The request for one session; `session` is its number on the socket. */
export interface Item {
  session: number;
  data: JsonObject;
}

/** The answer of one session; `recovered`: the connection was lost during the call, and the session continued. */
export interface BatchAnswer {
  data: JsonObject;
  recovered: boolean;
}

export function writeItems(method: Method, items: readonly Item[]): JsonObject {
  const sent = method === "state" ? items.map(({ session }) => ({ session })) : items;
  return { type: `${method}_many`, data: { items: sent } };
}

/** Why an item cannot be encoded; undefined if it can. */
export function findFault(item: Item): CallFailure | undefined {
  const written = attempt(() => renderRequest({ ...item }));
  return isFailure(written) ? written : undefined;
}

/** Returns the replies of a frame, or why the whole frame was rejected. */
export function readItems(answer: ReceivedMessage, count: number): unknown[] | CallFailure {
  const data = readReply("many", answer);
  if (isFailure(data)) return data;
  const { items } = data;
  return Array.isArray(items) && items.length === count ? items : protocolError(`"many" does not have ${count} items`);
}

/** Returns the number of a session, or why it was rejected. */
export function readOpened(reply: unknown): number | CallFailure {
  const opened = readReply("opened", reply);
  if (isFailure(opened)) return opened;
  const { session } = opened;
  return typeof session === "number" ? session : protocolError("an opened session has no number");
}

/** Returns the numbers of the copies of a session, or why there are none. */
export function readForked(reply: unknown, count: number): number[] | CallFailure {
  const forked = readReply("forked", reply);
  if (isFailure(forked)) return forked;
  const { sessions } = forked;
  const isValid = Array.isArray(sessions) && sessions.length === count && sessions.every(Number.isSafeInteger);
  return isValid ? (sessions as number[]) : protocolError(`a session does not have ${count} copies`);
}

/** Returns the answer of a session. A session that the server ended is lost, as if its socket had closed. */
export function readAnswer(method: Method, reply: unknown, recovered = false): BatchAnswer | CallFailure {
  const data = readReply(method === "state" ? "state" : "observation", reply);
  if (!isFailure(data)) return { data, recovered };
  return data instanceof RemoteError && data.wireCode === "SESSION_ERROR" ? sessionLost(data) : data;
}

function readReply(type: string, reply: unknown): JsonObject | CallFailure {
  const data = isObject(reply) ? reply["data"] : undefined;
  if (!isObject(reply) || !isObject(data)) return protocolError(`a reply of type "${type}" is missing`);
  if (reply["type"] === type) return data;
  return reply["type"] === "error" ? toCallFailure(data) : protocolError(`a reply is not of type "${type}"`);
}
