import { ConnectionError, RemoteError } from "../../errors.js";
import { renderRequest } from "../../protocol/codec.js";
import type { Link, ReceivedMessage } from "../../protocol/link.js";
import type { JsonObject } from "../../protocol/messages.js";
import { isObject } from "../../util/is-object.js";
import { Line } from "../line.js";
import type { CallOptions } from "../options.js";
import { abortedBeforeSent } from "../queue.js";
import { asFailure, failAll, type LaneAnswers, type LaneFailure, type LaneMethod, type OpenedLanes } from "./lanes.js";

interface Lane {
  /** The server's number of its session; undefined without one. */
  session: number | undefined;
  /** Why it has no episode, until a reset was answered. */
  lost: LaneFailure | undefined;
}

export interface BatchLanesOptions {
  /** At most what one frame holds. */
  size: number;
  /** Opens a socket that negotiates `batch`. */
  open(signal: AbortSignal | undefined): Promise<Link>;
  /** A socket that has confirmed it, and what it answered to `open_many`, for each session. */
  link: Link;
  opened: readonly unknown[];
  extensions: readonly string[];
}

/** Many sessions over one socket. After a loss a reset opens a new socket; those not reset with it stay lost. */
export function createBatchLanes({ size, open, ...first }: BatchLanesOptions): OpenedLanes {
  const lanes = Array.from({ length: size }, (): Lane => ({ session: undefined, lost: undefined }));
  const line = new Line({ open, link: first.link, opener: "connectMany" });
  line.extensions = first.extensions;

  const loseAll = (error: ConnectionError): void => {
    for (const lane of lanes) {
      if (lane.session !== undefined) lane.lost ??= error;
      lane.session = undefined;
    }
  };

  const takeOpened = (replies: readonly unknown[], wanting: readonly Lane[]): void => {
    wanting.forEach((lane, nth) => {
      const session = openedSession(replies[nth]);
      if (session === undefined) {
        lane.lost = toError(replies[nth]);
        return;
      }
      lane.session = session;
      if (lane.lost instanceof RemoteError) lane.lost = undefined;
    });
  };

  /** Opens a session for each lane that is to be reset and has none. */
  const openMissing = async (indexes: Iterable<number>, options: CallOptions): Promise<void> => {
    // Behind one address can be many servers: a new socket may come to one that has room.
    if (!line.up || lanes.every(({ session }) => session === undefined)) {
      loseAll(connectionEnded());
      await line.reopen(options.signal);
    }
    const wanting = Array.from(indexes, (index) => lanes[index] as Lane).filter(({ session }) => session === undefined);
    if (wanting.length === 0) return;
    const answer = await line.request({ type: "open_many", data: { count: wanting.length } }, options);
    takeOpened(readItems(answer, wanting.length), wanting);
  };

  /** One reply for each of these lanes. What cannot be sent is the reply of its lane, and the others go without it. */
  const ask = async (
    method: LaneMethod,
    asked: ReadonlyMap<number, JsonObject>,
    options: CallOptions,
  ): Promise<unknown[]> => {
    const items = Array.from(asked, ([index, data]) => {
      const session = lanes[index]?.session;
      return method === "state" ? { session } : { session, data };
    });
    const send = (sent: readonly JsonObject[]) =>
      line.request({ type: `${method}_many`, data: { items: sent } }, options);
    try {
      return readItems(await send(items), items.length);
    } catch (error) {
      const faults = items.map(findFault);
      const good = items.filter((_, nth) => faults[nth] === undefined);
      // Nothing was sent if one of them is at fault.
      if (good.length === items.length) throw error;
      const replies = good.length > 0 ? readItems(await send(good), good.length) : [];
      return faults.map((fault) => fault ?? replies.shift());
    }
  };

  const perform = async (method: LaneMethod, data: ReadonlyMap<number, JsonObject>, options: CallOptions) => {
    const answers: LaneAnswers = new Map();
    const asked = new Map(data);
    try {
      if (options.signal?.aborted) throw abortedBeforeSent(options.signal);
      if (method === "reset") await openMissing(data.keys(), options);
      else if (!line.up) loseAll(connectionEnded());
      for (const index of data.keys()) {
        const lane = lanes[index] as Lane;
        if (lane.session !== undefined && (method === "reset" || lane.lost === undefined)) continue;
        answers.set(index, refusal(lane));
        asked.delete(index);
      }
      if (asked.size === 0) return answers;
      const replies = await ask(method, asked, options);
      for (const [nth, index] of [...asked.keys()].entries()) {
        answers.set(index, takeReply(method, lanes[index] as Lane, replies[nth]));
      }
    } catch (error) {
      const failure = asFailure(line.explain(error));
      // The next answer would be that of another call.
      if (failure.code === "PROTOCOL_ERROR") line.drop();
      if (!line.up) loseAll(failure instanceof ConnectionError ? failure : connectionEnded());
      for (const index of asked.keys()) answers.set(index, failure);
    }
    return answers;
  };

  takeOpened(first.opened, lanes);
  return {
    extensionsOf: () => line.extensions,
    call: async (method, data, options) => {
      try {
        return await line.take(options.signal, () => perform(method, data, options));
      } catch (error) {
        return failAll(data.keys(), asFailure(error));
      }
    },
    isLost: (index) => !line.up || lanes[index]?.session === undefined || lanes[index].lost !== undefined,
    refusalOf: (index) => (lanes[index]?.session === undefined ? lanes[index]?.lost : undefined),
    close: () => line.close(),
  };
}

/** The number of a session that was opened. */
export function openedSession(reply: unknown): number | undefined {
  const data = isObject(reply) && reply["type"] === "opened" && isObject(reply["data"]) ? reply["data"] : {};
  return typeof data["session"] === "number" ? data["session"] : undefined;
}

function takeReply(method: LaneMethod, lane: Lane, reply: unknown): JsonObject | LaneFailure {
  const type = method === "state" ? "state" : "observation";
  if (isObject(reply) && reply["type"] === type && isObject(reply["data"])) {
    if (method === "reset") lane.lost = undefined;
    return reply["data"];
  }
  const error = toError(reply);
  if (!(error instanceof RemoteError) || error.wireCode !== "SESSION_ERROR") return error;
  // On a socket of its own this session's end would have been the end of the socket.
  lane.session = undefined;
  lane.lost = new ConnectionError(
    "SESSION_LOST",
    `The session was lost: ${error.message} Call reset to start a new episode.`,
    {
      cause: error,
    },
  );
  return lane.lost;
}

/** Why a lane cannot be called: it was refused a session, or its episode is gone. */
function refusal({ lost }: Lane): LaneFailure {
  if (lost instanceof RemoteError) return lost;
  const why = lost?.message ?? "No session was opened for it.";
  return new ConnectionError("SESSION_LOST", `The session was lost: ${why} Call reset to start a new episode.`, {
    cause: lost,
  });
}

/** @throws RemoteError when the frame was refused as a whole, ConnectionError when it is no answer to it. */
export function readItems(answer: ReceivedMessage, count: number): unknown[] {
  if (answer.type === "error") throw toError(answer);
  const { items } = answer.data;
  if (Array.isArray(items) && items.length === count) return items;
  throw new ConnectionError("PROTOCOL_ERROR", `The server broke the OpenEnv protocol: not ${count} items in "many".`);
}

/** Why an item cannot be sent. */
function findFault(item: JsonObject): RemoteError | undefined {
  try {
    renderRequest(item);
    return undefined;
  } catch (error) {
    return error as RemoteError;
  }
}

function toError(reply: unknown): LaneFailure {
  if (reply instanceof RemoteError) return reply;
  if (!isObject(reply) || reply["type"] !== "error" || !isObject(reply["data"])) {
    return new ConnectionError(
      "PROTOCOL_ERROR",
      "The server broke the OpenEnv protocol: an item is no answer to its request.",
    );
  }
  const { code, message, ...details } = reply["data"];
  return new RemoteError(String(code), String(message), details);
}

function connectionEnded(): ConnectionError {
  return new ConnectionError("SESSION_LOST", "the connection that carried it has ended.");
}
