import {
  describeClose,
  openSocket,
  parseJson,
  type ReceivedMessage,
  type Socket,
  type View,
} from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { socketUrl } from "./base.js";
import { tokenHeaders } from "./token.js";

/** A response, with the data of the view extension. */
export interface AnswerMessage extends ReceivedMessage {
  view?: View;
}

/** The frames of one request. */
export interface RoundTrip {
  sent: JsonObject;
  received: AnswerMessage;
  /** Number of the sent frame; the received one is the next. */
  frame: number;
  sentBytes: number;
  receivedBytes: number;
  ms: number;
}

/** Events of a session. */
export interface ServerSocketEvents {
  /** The session ended, also between requests. Called once, and not after `close()`. */
  ended(end: ServerSocketEnd): void;
  /** The position in the queue of the server, 0 when the session starts. */
  queued(place: number): void;
}

/** Why a connection ended: the reason, and the close code of the socket, 0 without one. */
export interface ServerSocketEnd {
  code: number;
  reason: string;
  /** The capacity of a full server. */
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
  /** @throws LinkLostError when the session ends before the response. */
  ask(message: JsonObject): Promise<RoundTrip>;
  close(): void;
}

const OPEN_TIMEOUT_MS = 15_000;

/** A copy of a session, which waits for its first connection. */
export interface SessionCopy {
  session_id: string;
  token: string;
}

/** Opens a session, or the one that is a copy. */
export async function openServerSocket(events: ServerSocketEvents, copy?: SessionCopy): Promise<ServerSocket> {
  let socket: Socket | undefined;
  let frames = 0;
  /** The number of the last request to a copy. */
  let seq = 0;
  let waiting: { type: unknown; resolve(text: string): void; reject(error: Error): void } | undefined;
  /** Why the server rejected the session. */
  let refused: ServerSocketEnd | undefined;
  let ended: ServerSocketEnd | undefined;
  let last: Promise<unknown> = Promise.resolve();

  // Without this frame, the server would keep the copy for its client.
  const leave = (): void => socket?.send('{"type":"close"}');
  const end = (why: ServerSocketEnd): void => {
    if (ended) return;
    ended = refused ?? why;
    removeEventListener("pagehide", leave);
    waiting?.reject(new ServerSocketClosedError(ended));
    events.ended(ended);
  };
  const receive = (data: unknown): void => {
    frames++;
    const text = String(data);
    if (text.startsWith(QUEUED)) return events.queued(Number((parseJson(text) as AnswerMessage).data["place"]));
    const error = text.startsWith(ERROR) ? (parseJson(text) as AnswerMessage).data : undefined;
    // A rejection is not a response to a request; the end of the session follows.
    if (error && (!waiting || (waiting.type !== "fork" && REFUSALS.includes(error["code"])))) {
      refused = refusalOf(error);
      return;
    }
    waiting?.resolve(text);
    waiting = undefined;
  };

  const send = async (request: JsonObject): Promise<RoundTrip> => {
    if (ended) throw new ServerSocketClosedError(ended);
    const isNumbered = copy !== undefined && request["type"] !== "resume";
    const message = isNumbered ? { ...request, seq: ++seq, ack: seq - 1 } : request;
    const text = JSON.stringify(message);
    const frame = ++frames;
    const start = performance.now();
    const answer = await new Promise<string>((resolve, reject) => {
      waiting = { type: message["type"], resolve, reject };
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
  socket = await openSocket(socketUrl(copy?.session_id), handlers, {
    headers: tokenHeaders(),
    timeoutMs: OPEN_TIMEOUT_MS,
  });
  if (copy) last = send({ type: "resume", data: { token: copy.token } });
  if (copy) addEventListener("pagehide", leave);
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
      if (copy) leave();
      removeEventListener("pagehide", leave);
      socket.drop();
    },
  };
}

/** The first bytes of frames with the position in the queue. */
const QUEUED = '{"type":"queued"';

/** The first bytes of error frames. */
const ERROR = '{"type":"error"';
/** The error codes that the server sends instead of a session. */
const REFUSALS: readonly unknown[] = ["CAPACITY_REACHED", "FACTORY_ERROR"];

function refusalOf({ code, message, max_sessions: places }: JsonObject): ServerSocketEnd {
  const end = { code: 0, reason: `${String(message)} (${String(code)})` };
  return code === "CAPACITY_REACHED" ? { ...end, places: Number(places) } : end;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
