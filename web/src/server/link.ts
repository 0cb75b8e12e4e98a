import { describeClose } from "../../../openenv/src/client/close-codes.js";
import { openSocket, type Socket } from "../../../openenv/src/client/socket.js";
import { parseJson } from "../../../openenv/src/protocol/json.js";
import type { ReceivedMessage } from "../../../openenv/src/protocol/link.js";
import type { JsonObject } from "../../../openenv/src/protocol/messages.js";
import type { View } from "../../../openenv/src/protocol/web.js";
import { socketUrl } from "./base.js";

/** An answer, with what the view extension puts beside it. */
export interface Answer extends ReceivedMessage {
  view?: View;
}

/** What crossed the wire for one request. */
export interface Exchange {
  sent: JsonObject;
  received: Answer;
  /** Number of the frame that was sent; the one received is the next. */
  frame: number;
  sentBytes: number;
  receivedBytes: number;
  ms: number;
}

/** What is told of a session without being asked for. */
export interface LinkEvents {
  /** It ended by itself, also between requests. Called once, and not after `close()`. */
  ended(end: LinkEnd): void;
  /** The server keeps a queue: the place in it, 0 when the turn has come. */
  queued(place: number): void;
}

/** Why a connection ended: in words, and the close code of the socket, 0 when there was none. */
export interface LinkEnd {
  code: number;
  reason: string;
  /** Of a server that is full: how many places it has. */
  places?: number;
}

export class LinkLostError extends Error {}

/** One session on `/ws`: requests are answered in order, one at a time. */
export interface ServerLink {
  /** @throws LinkLostError when the session ends before the answer. */
  ask(message: JsonObject): Promise<Exchange>;
  close(): void;
}

const OPEN_TIMEOUT_MS = 15_000;

/** Opens a session. */
export async function openLink(events: LinkEvents): Promise<ServerLink> {
  let socket: Socket | undefined;
  let frames = 0;
  let waiting: { resolve(text: string): void; reject(error: Error): void } | undefined;
  /** What the server said before it was asked: why it refuses the session. */
  let unasked: Answer | undefined;
  let ended: LinkEnd | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const end = (why: LinkEnd): void => {
    if (ended) return;
    ended = refusalOf(unasked) ?? why;
    waiting?.reject(new LinkLostError(ended.reason));
    events.ended(ended);
  };
  const receive = (data: unknown): void => {
    frames++;
    const text = String(data);
    if (text.startsWith(QUEUED)) return events.queued(Number((parseJson(text) as Answer).data["place"]));
    if (waiting) waiting.resolve(text);
    else unasked = parseJson(text) as Answer;
    waiting = undefined;
  };

  const send = async (message: JsonObject): Promise<Exchange> => {
    if (ended) throw new LinkLostError(ended.reason);
    const text = JSON.stringify(message);
    const frame = ++frames;
    const start = performance.now();
    const answer = await new Promise<string>((resolve, reject) => {
      waiting = { resolve, reject };
      socket?.send(text);
    });
    const ms = performance.now() - start;
    const received = parseJson(answer) as Answer;
    return { sent: message, received, frame, sentBytes: byteLength(text), receivedBytes: byteLength(answer), ms };
  };

  const handlers = {
    message: receive,
    close: (code: number, reason: string) => end({ code, reason: describeClose(code, reason) }),
  };
  socket = await openSocket(socketUrl(), handlers, { headers: {}, timeoutMs: OPEN_TIMEOUT_MS });
  return {
    ask(message) {
      const answer = last.then(() => send(message));
      last = answer.catch(() => {});
      return answer;
    },
    close() {
      if (ended) return;
      ended = { code: 1000, reason: "this page closed it" };
      waiting?.reject(new LinkLostError(ended.reason));
      socket.drop();
    },
  };
}

/** How the frames begin that tell the place in the queue. */
const QUEUED = '{"type":"queued"';

function refusalOf(answer: Answer | undefined): LinkEnd | undefined {
  if (answer?.type !== "error") return undefined;
  const { code, message, max_sessions: places } = answer.data;
  const end = { code: 0, reason: `${String(message)} (${String(code)})` };
  return code === "CAPACITY_REACHED" ? { ...end, places: Number(places) } : end;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
