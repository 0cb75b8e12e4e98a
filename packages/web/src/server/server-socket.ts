import { openSocket, parseJson } from "openenv-ts/internal";
import type { JsonObject, View } from "openenv-ts/protocol";
import { socketUrl } from "./base.js";
import { introduce, type PageSession } from "./kept-session.js";
import { tokenHeaders } from "./token.js";

type Attach = Parameters<typeof openSocket>[2];
type Socket = Parameters<Attach>[0];

/** A response, with the data of the view extension. */
export interface AnswerMessage {
  type: string;
  data: JsonObject;
  /** The number of the event that the request was, in a resumable session. */
  event?: number;
  /** The number of the request in a session that outlives its socket. */
  seq?: number;
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

/** After these, the session is not resumed: it has ended, another page has it, or a request was too large for it. */
export const FINAL_CODES: readonly number[] = [4000, 4001, 1009];

/** Opens a session, or returns to one. */
export function openServerSocket(events: ServerSocketEvents, kept?: PageSession): Promise<ServerSocket> {
  const options = { headers: tokenHeaders(), timeoutMs: OPEN_TIMEOUT_MS };
  return openSocket(socketUrl(kept?.session_id), options, (socket) => new ServerSocket(socket, events, kept));
}

/** Ends a session whose request is not answered: a frame on its own socket would wait for the answer. */
async function endSession(kept: PageSession): Promise<void> {
  const socket = await openServerSocket({ ended: () => {}, queued: () => {} }, kept);
  await socket.ready;
  socket.close();
}

/** One session on `/ws`: requests are answered in order, one at a time. */
export class ServerSocket {
  readonly #socket: Socket;
  readonly #events: ServerSocketEvents;
  /** The session, if it outlives the socket. */
  kept: PageSession | undefined;
  /** Resolves when the session is there. */
  readonly ready: Promise<void>;
  #frames = 0;
  #waiting: { type: unknown; resolve(text: string): void; reject(error: Error): void } | undefined;
  /** Why the server rejected the session. */
  #refused: ServerSocketEnd | undefined;
  #ended: ServerSocketEnd | undefined;
  #last: Promise<unknown>;

  constructor(socket: Socket, events: ServerSocketEvents, kept: PageSession | undefined) {
    this.#socket = socket;
    this.#events = events;
    this.kept = kept;
    this.ready = kept ? this.#introduce(kept) : Promise.resolve();
    this.#last = this.ready.catch(() => {});
  }

  /** @throws ServerSocketClosedError when the session ends before the response. */
  ask(message: JsonObject): Promise<RoundTrip> {
    const answer = this.#last.then(() => this.#send(message));
    this.#last = answer.catch(() => {});
    return answer;
  }

  /** Ends the session. */
  close(): void {
    if (this.#ended) return;
    const { kept } = this;
    const isBusy = this.#waiting !== undefined && kept !== undefined && kept.session_id !== "";
    if (kept && !isBusy) this.#socket.send('{"type":"close"}');
    this.drop();
    if (isBusy) void endSession(kept).catch(() => {});
  }

  /** Leaves the session to its next socket. */
  drop(): void {
    if (this.#ended) return;
    this.#stop({ code: 1000, reason: "this page closed it" });
    this.#socket.drop();
  }

  onMessage(data: unknown): void {
    this.#frames++;
    const text = String(data);
    if (text.startsWith(QUEUED)) return this.#events.queued(Number((parseJson(text) as AnswerMessage).data["place"]));
    const error = text.startsWith(ERROR) ? (parseJson(text) as AnswerMessage).data : undefined;
    // A rejection is not a response to a request; the end of the session follows.
    if (error && (!this.#waiting || (this.#waiting.type !== "fork" && isRefusal(error)))) {
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
    const kept = request["type"] === "resume" ? undefined : this.kept;
    const message = kept ? { ...request, seq: kept.ack + 1, ack: kept.ack } : request;
    if (kept) kept.pending = request["type"];
    const text = JSON.stringify(message);
    const frame = ++this.#frames;
    const start = performance.now();
    const answer = await new Promise<string>((resolve, reject) => {
      this.#waiting = { type: message["type"], resolve, reject };
      this.#socket.send(text);
    });
    const ms = performance.now() - start;
    const received = parseJson(answer) as AnswerMessage;
    if (kept) {
      kept.pending = undefined;
      // A request that the server could not read has used no number.
      if (received.seq !== undefined) kept.ack++;
    }
    return { sent: message, received, frame, sentBytes: byteLength(text), receivedBytes: byteLength(answer), ms };
  }

  #stop(end: ServerSocketEnd): ServerSocketEnd {
    this.#ended = end;
    this.#waiting?.reject(new ServerSocketClosedError(end));
    return end;
  }

  async #introduce(kept: PageSession): Promise<void> {
    const isNew = kept.session_id === "";
    const { received } = await this.#send({ type: "resume", data: await introduce(kept) });
    const { code, message, last_seq: last, recovered, session_id: id } = received.data;
    if (received.type === "error") {
      // A server that keeps no sessions does not know the frame: the session is that of its socket.
      if (isNew && NOT_KEPT.includes(code)) return void (this.kept = undefined);
      this.#socket.drop();
      this.onClose(0, String(message));
    } else if (isNew) {
      kept.session_id = String(id);
    } else if (recovered !== true || Number(last) < kept.ack) {
      const reason = String(received.data["reason"] ?? "the server has lost its last steps");
      this.#socket.drop();
      this.onClose(SESSION_ENDED, reason);
    } else if (kept.skips) {
      kept.ack = Number(last);
      delete kept.skips;
    }
    if (this.#ended) throw new ServerSocketClosedError(this.#ended);
  }
}

/** The close code of a session that has ended. */
const SESSION_ENDED = 4000;
const NOT_KEPT: readonly unknown[] = ["UNKNOWN_TYPE", "VALIDATION_ERROR"];

/** The first bytes of frames with the position in the queue. */
const QUEUED = '{"type":"queued"';

/** The first bytes of error frames. */
const ERROR = '{"type":"error"';
/** The error codes that the server sends instead of a session. */
const REFUSALS: readonly unknown[] = ["CAPACITY_REACHED", "FACTORY_ERROR"];

/** An answer to the first frame can have the same code: the memory for stored answers is used up. */
function isRefusal({ code, max_sessions: places }: JsonObject): boolean {
  return REFUSALS.includes(code) && (code !== "CAPACITY_REACHED" || places !== undefined);
}

function refusalOf({ code, message, max_sessions: places }: JsonObject): ServerSocketEnd {
  const end = { code: 0, reason: `${String(message)} (${String(code)})` };
  return code === "CAPACITY_REACHED" ? { ...end, places: Number(places) } : end;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
