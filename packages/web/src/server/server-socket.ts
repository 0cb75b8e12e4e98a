import { describeClose, openSocket, parseJson, type ReceivedMessage, type Socket } from "openenv-ts/internal";
import type { JsonObject, View } from "openenv-ts/protocol";
import { socketUrl } from "./base.js";
import { tokenHeaders } from "./token.js";

/** An answer, with what the view extension puts beside it. */
export interface AnswerMessage extends ReceivedMessage {
  view?: View;
}

/** What crossed the wire for one request. */
export interface RoundTrip {
  sent: JsonObject;
  received: AnswerMessage;
  /** Number of the frame that was sent; the one received is the next. */
  frame: number;
  sentBytes: number;
  receivedBytes: number;
  ms: number;
}

/** What is told of a session without being asked for. */
export interface ServerSocketEvents {
  /** It ended by itself, also between requests. Called once, and not after `close()`. */
  ended(end: ServerSocketEnd): void;
  /** The server keeps a queue: the place in it, 0 when the turn has come. */
  queued(place: number): void;
}

/** Why a connection ended: in words, and the close code of the socket, 0 when there was none. */
export interface ServerSocketEnd {
  code: number;
  reason: string;
  /** Of a server that is full: how many places it has. */
  places?: number;
}

export class ServerSocketClosedError extends Error {
  readonly end: ServerSocketEnd;

  constructor(end: ServerSocketEnd) {
    super(end.reason);
    this.end = end;
  }
}

/** One session on `/ws`: requests are answered in order, one at a time. */
export interface ServerSocket {
  /** @throws LinkLostError when the session ends before the answer. */
  ask(message: JsonObject): Promise<RoundTrip>;
  close(): void;
}

const OPEN_TIMEOUT_MS = 15_000;

/** Opens a session. */
export async function openServerSocket(events: ServerSocketEvents): Promise<ServerSocket> {
  let socket: Socket | undefined;
  let frames = 0;
  let waiting: { resolve(text: string): void; reject(error: Error): void } | undefined;
  /** Why the server gives no session. */
  let refused: ServerSocketEnd | undefined;
  let ended: ServerSocketEnd | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const end = (why: ServerSocketEnd): void => {
    if (ended) return;
    ended = refused ?? why;
    waiting?.reject(new ServerSocketClosedError(ended));
    events.ended(ended);
  };
  const receive = (data: unknown): void => {
    frames++;
    const text = String(data);
    if (text.startsWith(QUEUED)) return events.queued(Number((parseJson(text) as AnswerMessage).data["place"]));
    const told = text.startsWith(ERROR) ? (parseJson(text) as AnswerMessage).data : undefined;
    // A refusal is no answer, also for those who have asked already; the end follows.
    if (told && (!waiting || REFUSALS.includes(told["code"]))) {
      refused = refusalOf(told);
      return;
    }
    waiting?.resolve(text);
    waiting = undefined;
  };

  const send = async (message: JsonObject): Promise<RoundTrip> => {
    if (ended) throw new ServerSocketClosedError(ended);
    const text = JSON.stringify(message);
    const frame = ++frames;
    const start = performance.now();
    const answer = await new Promise<string>((resolve, reject) => {
      waiting = { resolve, reject };
      socket?.send(text);
    });
    const ms = performance.now() - start;
    const received = parseJson(answer) as AnswerMessage;
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
      waiting?.reject(new ServerSocketClosedError(ended));
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

function refusalOf({ code, message, max_sessions: places }: JsonObject): ServerSocketEnd {
  const end = { code: 0, reason: `${String(message)} (${String(code)})` };
  return code === "CAPACITY_REACHED" ? { ...end, places: Number(places) } : end;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
