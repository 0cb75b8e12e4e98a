import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { CLOSE_CODES, type Extension } from "../../protocol/messages.js";
import { isThenable } from "../../util/thenable.js";
import type { Session } from "../session.js";
import type { Refusal, Sessions } from "../sessions.js";
import type { Conversation, SocketProtocol } from "./protocol.js";

/** Answers waiting to be taken by the peer beyond which no more of its frames are handled, bytes. */
const HIGH_WATER = 4 * 1024 * 1024;
/** Frames waiting for their turn beyond which the socket is not read, of one connection and of all, bytes. */
const QUEUE_LIMIT = 1024 * 1024;
const TOTAL_QUEUE_LIMIT = 256 * 1024 * 1024;

let totalQueued = 0;

interface QueuedFrame {
  data: Buffer;
  isBinary: boolean;
}

export interface ConnectionParts {
  ws: WebSocket;
  socket: Duplex;
  protocol: SocketProtocol;
  sessions: Sessions;
}

/** One socket: its frames are answered one at a time, in order. It has a session of its own, or is attached to a named one. */
export class Connection implements Conversation {
  /** Set from {@link start} on, while frames are answered. */
  session!: Session;
  extensions: readonly Extension[] = [];
  /** The first answer has been sent. */
  answered = false;
  /** The peer has been heard since the last ping. */
  heard = true;
  missedPings = 0;
  readonly #parts: ConnectionParts;
  #owns = true;
  #blocked = true;
  #corked = false;
  #paused = false;
  #ended = false;
  #goingAway = false;
  #queue: QueuedFrame[] | undefined;
  #queuedBytes = 0;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** Work is in flight, or the peer is not read: silence says nothing about it. */
  get working(): boolean {
    return this.#blocked || this.#paused;
  }

  /** Opens the session, or attaches to the named one, then handles what has come in meanwhile. */
  start(sessionId: string | null): void {
    const { sessions } = this.#parts;
    this.#owns = sessionId === null;
    try {
      const opened = sessionId === null ? sessions.open() : sessions.attach(sessionId);
      if (isThenable(opened)) {
        opened.then(
          (session) => this.#adopt(session),
          (error: Refusal) => this.#refuse(error),
        );
      } else this.#adopt(opened);
    } catch (error) {
      this.#refuse(error as Refusal);
    }
  }

  receive(data: Buffer, isBinary: boolean): void {
    this.heard = true;
    if (this.#blocked) this.#enqueue(data, isBinary);
    else if (!this.#ended) this.#answer(data, isBinary);
  }

  /** The socket has closed: the slot is freed now, also when a step is still running. */
  closed(): void {
    for (const { data } of this.#queue?.splice(0) ?? []) totalQueued -= data.byteLength;
    if (this.#ended) return;
    this.#ended = true;
    if (this.session === undefined) return;
    if (this.#owns) this.#parts.sessions.end(this.session, "disconnected");
    else this.#parts.sessions.detach(this.session);
  }

  /** No pong came: the slot is freed without waiting for the socket. */
  lost(): void {
    this.closed();
    this.#parts.ws.close(CLOSE_CODES.noPong, "no answer to pings");
  }

  /** The server stops: closes as soon as the answer in flight is out. */
  goAway(): void {
    this.#goingAway = true;
    if (!this.#blocked) this.#parts.ws.close(CLOSE_CODES.restart, "the server is shutting down");
  }

  #refuse(refusal: Refusal): void {
    const { protocol, ws } = this.#parts;
    this.#ended = true;
    this.#send(protocol.refuse(refusal));
    ws.close(CLOSE_CODES.normal);
  }

  #adopt(session: Session): void {
    this.session = session;
    if (this.#ended) {
      this.#parts.sessions.end(session, "disconnected");
      return;
    }
    session.attached = true;
    session.onEnded = (reason) => this.#sessionEnded(reason);
    this.#unblock();
  }

  /** Something else than this socket ended the session: no frame may say so, the close code does. */
  #sessionEnded(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#parts.ws.close(CLOSE_CODES.sessionEnded, reason);
  }

  #answer(data: Buffer, isBinary: boolean): void {
    const { protocol, ws } = this.#parts;
    const answer = isBinary ? protocol.binary() : protocol.answer(this, data.toString());
    if (answer === null) {
      ws.close(CLOSE_CODES.normal);
      this.closed();
    } else if (isThenable(answer)) {
      this.#blocked = true;
      void answer.then((text) => {
        this.#send(text);
        if (!this.#waitForDrain()) this.#unblock();
      });
    } else {
      this.#send(answer);
      this.#waitForDrain();
    }
  }

  #send(text: string): void {
    const { ws, socket } = this.#parts;
    this.answered = true;
    // Answers of one turn leave in one write.
    if (!this.#corked) {
      this.#corked = true;
      socket.cork();
      process.nextTick(uncork, this);
    }
    ws.send(text);
  }

  /** True when the peer takes its answers too slowly: nothing more is handled until it has. */
  #waitForDrain(): boolean {
    const { ws, socket } = this.#parts;
    if (ws.bufferedAmount < HIGH_WATER) return false;
    this.#blocked = true;
    socket.once("drain", () => this.#unblock());
    return true;
  }

  #unblock(): void {
    this.#blocked = false;
    while (!this.#blocked && !this.#ended) {
      const next = this.#queue?.shift();
      if (next === undefined) break;
      this.#queuedBytes -= next.data.byteLength;
      totalQueued -= next.data.byteLength;
      this.#answer(next.data, next.isBinary);
    }
    if (this.#paused && this.#queuedBytes === 0) {
      this.#paused = false;
      this.#parts.ws.resume();
    }
    if (this.#goingAway && !this.#blocked) this.goAway();
  }

  #enqueue(data: Buffer, isBinary: boolean): void {
    this.#queue ??= [];
    this.#queue.push({ data, isBinary });
    this.#queuedBytes += data.byteLength;
    totalQueued += data.byteLength;
    if (this.#queuedBytes < QUEUE_LIMIT && totalQueued < TOTAL_QUEUE_LIMIT) return;
    this.#paused = true;
    this.#parts.ws.pause();
  }

  static uncork(connection: Connection): void {
    connection.#corked = false;
    connection.#parts.socket.uncork();
  }
}

const { uncork } = Connection;
