import { describeClose } from "../../../openenv/src/client/transport/close-codes.js";
import { openSocket, type Socket } from "../../../openenv/src/client/transport/socket.js";
import { parseJson } from "../../../openenv/src/protocol/codec/json.js";
import type { ReceivedMessage } from "../../../openenv/src/protocol/link.js";
import type { JsonObject } from "../../../openenv/src/protocol/messages.js";
import type { View } from "../../../openenv/src/protocol/web.js";
import { socketUrl } from "./base.js";
import { tokenHeaders } from "./token.js";

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

export class LinkLostError extends Error {
  readonly end: LinkEnd;

  constructor(end: LinkEnd) {
    super(end.reason);
    this.end = end;
  }
}

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
  /** Why the server gives no session. */
  let refused: LinkEnd | undefined;
  let ended: LinkEnd | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const end = (why: LinkEnd): void => {
    if (ended) return;
    ended = refused ?? why;
    waiting?.reject(new LinkLostError(ended));
    events.ended(ended);
  };
  const receive = (data: unknown): void => {
    frames++;
    const text = String(data);
    if (text.startsWith(QUEUED)) return events.queued(Number((parseJson(text) as Answer).data["place"]));
    const told = text.startsWith(ERROR) ? (parseJson(text) as Answer).data : undefined;
    // A refusal is no answer, also for those who have asked already; the end follows.
    if (told && (!waiting || REFUSALS.includes(told["code"]))) {
      refused = refusalOf(told);
      return;
    }
    waiting?.resolve(text);
    waiting = undefined;
  };

  const send = async (message: JsonObject): Promise<Exchange> => {
    if (ended) throw new LinkLostError(ended);
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
  socket = await openSocket(socketUrl(), handlers, { headers: tokenHeaders(), timeoutMs: OPEN_TIMEOUT_MS });
  return {
    ask(message) {
      const answer = last.then(() => send(message));
      last = answer.catch(() => {});
      return answer;
    },
    close() {
      if (ended) return;
      ended = { code: 1000, reason: "this page closed it" };
      waiting?.reject(new LinkLostError(ended));
      socket.drop();
    },
  };
}

/** How the frames begin that tell the place in the queue. */
const QUEUED = '{"type":"queued"';

/** The same of those that tell what went wrong. */
const ERROR = '{"type":"error"';
/** The codes of those that are told instead of a session. */
const REFUSALS: readonly unknown[] = ["CAPACITY_REACHED", "FACTORY_ERROR"];

function refusalOf({ code, message, max_sessions: places }: JsonObject): LinkEnd {
  const end = { code: 0, reason: `${String(message)} (${String(code)})` };
  return code === "CAPACITY_REACHED" ? { ...end, places: Number(places) } : end;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
