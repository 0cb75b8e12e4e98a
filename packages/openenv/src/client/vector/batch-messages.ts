/** The frames of the extension `batch`, as a client writes and reads them. */
import { RemoteError } from "../../errors.js";
import { renderRequest } from "../../protocol/codec/codec.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ReceivedMessage } from "../../protocol/transport.js";
import { isObject } from "../../util/is-object.js";
import { attempt, type CallFailure, isFailure, protocolError, sessionLost, toRemoteError } from "../failures.js";
import type { Method } from "../operations.js";

/** What is asked of one session: `session` is its number on the socket. */
export interface Item {
  session: number;
  data: JsonObject;
}

export function writeItems(method: Method, items: readonly Item[]): JsonObject {
  const sent = method === "state" ? items.map(({ session }) => ({ session })) : items;
  return { type: `${method}_many`, data: { items: sent } };
}

/** Why an item cannot be written. */
export function findFault(item: Item): CallFailure | undefined {
  const written = attempt(() => renderRequest({ ...item }));
  return isFailure(written) ? written : undefined;
}

/** The replies of a frame, or why it was refused as a whole. */
export function readItems(answer: ReceivedMessage, count: number): unknown[] | CallFailure {
  const data = readReply("many", answer);
  if (isFailure(data)) return data;
  const { items } = data;
  return Array.isArray(items) && items.length === count ? items : protocolError(`"many" does not have ${count} items`);
}

/** The number of a session, or why it was refused. */
export function readOpened(reply: unknown): number | CallFailure {
  const opened = readReply("opened", reply);
  if (isFailure(opened)) return opened;
  const { session } = opened;
  return typeof session === "number" ? session : protocolError("an opened session has no number");
}

/** The answer of a session. One that the server has ended is lost, as it would be with a socket that ended. */
export function readAnswer(method: Method, reply: unknown): JsonObject | CallFailure {
  const answer = readReply(method === "state" ? "state" : "observation", reply);
  const hasEnded = answer instanceof RemoteError && answer.wireCode === "SESSION_ERROR";
  return hasEnded ? sessionLost(answer) : answer;
}

function readReply(type: string, reply: unknown): JsonObject | CallFailure {
  const data = isObject(reply) ? reply["data"] : undefined;
  if (!isObject(reply) || !isObject(data)) return protocolError(`a reply of type "${type}" is missing`);
  if (reply["type"] === type) return data;
  return reply["type"] === "error" ? toRemoteError(data) : protocolError(`a reply is not of type "${type}"`);
}
