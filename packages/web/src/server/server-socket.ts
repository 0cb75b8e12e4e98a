import { openSocket, parseJson } from "openenv-ts/internal";
import type { JsonObject, View } from "openenv-ts/protocol";
import { socketUrl } from "./base.js";
import { tokenHeaders } from "./token.js";

type Attach = Parameters<typeof openSocket>[2];
type Socket = Parameters<Attach>[0];

/** A response, with the data of the view extension. */
export interface AnswerMessage {
  type: string;
  data: JsonObject;
  /** The number of the event that the request was, in a resumable session. */
  event?: number;
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

const OPEN_TIMEOUT_MS = 15_000;

/** A copy of a session, which waits for its first connection. */
export interface SessionCopy {
  session_id: string;
  token: string;
}

/** Opens a session, or the one that is a copy. */
export function openServerSocket(events: ServerSocketEvents, copy?: SessionCopy): Promise<ServerSocket> {
  const options = { headers: tokenHeaders(), timeoutMs: OPEN_TIMEOUT_MS };
  return openSocket(socketUrl(copy?.session_id), options, (socket) => new ServerSocket(socket, events, copy));
}

/** One session on `/ws`: requests are answered in order, one at a time. */
export class ServerSocket {
  readonly #socket: Socket;
  readonly #events: ServerSocketEvents;
  readonly #isCopy: boolean;
  #frames = 0;
  /** The number of the last request to a copy. */
  #seq = 0;
  #waiting: { type: unknown; resolve(text: string): void; reject(error: Error): void } | undefined;
  /** Why the server rejected the session. */
  #refused: ServerSocketEnd | undefined;
  #ended: ServerSocketEnd | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(socket: Socket, events: ServerSocketEvents, copy: SessionCopy | undefined) {
    this.#socket = socket;
    this.#events = events;
    this.#isCopy = copy !== undefined;
    if (!copy) return;
    this.#last = this.#send({ type: "resume", data: { token: copy.token } });
    addEventListener("pagehide", this.#leave);
  }

  /** @throws ServerSocketClosedError when the session ends before the response. */
  ask(message: JsonObject): Promise<RoundTrip> {
    const answer = this.#last.then(() => this.#send(message));
    this.#last = answer.catch(() => {});
    return answer;
  }

  close(): void {
    if (this.#ended) return;
    this.#stop({ code: 1000, reason: "this page closed it" });
    if (this.#isCopy) this.#leave();
    this.#socket.drop();
  }

  onMessage(data: unknown): void {
    this.#frames++;
    const text = String(data);
    if (text.startsWith(QUEUED)) return this.#events.queued(Number((parseJson(text) as AnswerMessage).data["place"]));
    const error = text.startsWith(ERROR) ? (parseJson(text) as AnswerMessage).data : undefined;
    // A rejection is not a response to a request; the end of the session follows.
    if (error && (!this.#waiting || (this.#waiting.type !== "fork" && REFUSALS.includes(error["code"])))) {
      this.#refused = refusalOf(error);
      return;
    }
    this.#waiting?.resolve(text);
    this.#waiting = undefined;
  }

  onClose(code: number, reason: string): void {
    if (this.#ended) return;
    this.#events.ended(this.#stop(this.#refused ?? { code, reason }));
  }

  async #send(request: JsonObject): Promise<RoundTrip> {
    if (this.#ended) throw new ServerSocketClosedError(this.#ended);
    const isNumbered = this.#isCopy && request["type"] !== "resume";
    const message = isNumbered ? { ...request, seq: ++this.#seq, ack: this.#seq - 1 } : request;
    const text = JSON.stringify(message);
    const frame = ++this.#frames;
    const start = performance.now();
    const answer = await new Promise<string>((resolve, reject) => {
      this.#waiting = { type: message["type"], resolve, reject };
      this.#socket.send(text);
    });
    const ms = performance.now() - start;
    const received = parseJson(answer) as AnswerMessage;
    return { sent: message, received, frame, sentBytes: byteLength(text), receivedBytes: byteLength(answer), ms };
  }

  #stop(end: ServerSocketEnd): ServerSocketEnd {
    this.#ended = end;
    removeEventListener("pagehide", this.#leave);
    this.#waiting?.reject(new ServerSocketClosedError(end));
    return end;
  }

  /** Without this frame, the server would keep the copy for its client. */
  readonly #leave = (): void => this.#socket.send('{"type":"close"}');
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
