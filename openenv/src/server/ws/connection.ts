import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { CLOSE_CODES, type Extension } from "../../protocol/messages.js";
import { isThenable } from "../../util/thenable.js";
import type { Refusal } from "../refusal.js";
import type { Session } from "../session.js";
import type { Sessions } from "../sessions.js";
import { Batch } from "./batch.js";
import type { Answer } from "./format.js";
import type { Conversation, SocketProtocol } from "./protocol.js";

/** Answers waiting to be taken by the peer beyond which no more of its frames are handled, bytes. */
const HIGH_WATER = 4 * 1024 * 1024;
/** Frames waiting for their turn beyond which the socket is not read, of one connection and of all, bytes. */
const QUEUE_LIMIT = 1024 * 1024;
const TOTAL_QUEUE_LIMIT = 256 * 1024 * 1024;

const SHUTTING_DOWN = "the server is shutting down";

let totalQueued = 0;

interface QueuedFrame {
  data: Buffer;
  isBinary: boolean;
}

export interface ConnectionParts {
  ws: WebSocket;
  socket: Socket;
  protocol: SocketProtocol;
  sessions: Sessions;
  /** The upgrade carried the orchestrator's token. */
  orchestrator: boolean;
}

/**
 * One socket: its frames are answered one at a time, in order. It has a session of its own, is attached to a named one,
 * or carries a batch of sessions.
 */
export class Connection implements Conversation {
  /** Set from {@link start} on, while frames are answered. */
  session!: Session;
  batch: Batch | undefined;
  extensions: readonly Extension[] = [];
  /** The first answer has been sent. */
  answered = false;
  missedPings = 0;
  #bytesRead = -1;
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

  /** Anything came since this was last asked: a pong, or a part of a long frame. A peer that is not read is not judged. */
  wasHeard(): boolean {
    const { bytesRead } = this.#parts.socket;
    const heard = bytesRead !== this.#bytesRead || this.#paused;
    this.#bytesRead = bytesRead;
    return heard;
  }

  /** Opens the session, or attaches to the named one, then handles what has come in meanwhile. */
  start(sessionId: string | null): void {
    const { sessions } = this.#parts;
    this.#owns = sessionId === null;
    if (this.extensions.includes("batch")) {
      if (sessionId === null) return this.#startBatch();
      this.extensions = this.extensions.filter((name) => name !== "batch");
    }
    try {
      const opened = sessionId === null ? sessions.open(this) : sessions.attach(sessionId);
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
    if (this.#blocked) this.#enqueue(data, isBinary);
    else if (!this.#ended) this.#answer(data, isBinary);
  }

  /** The socket has closed: the slot is freed now, also when a step is still running. */
  closed(reason: string): void {
    for (const { data } of this.#queue?.splice(0) ?? []) totalQueued -= data.byteLength;
    if (this.#ended) return;
    this.#ended = true;
    const why = this.#goingAway ? SHUTTING_DOWN : reason;
    if (this.batch !== undefined) this.batch.end(why);
    else if (this.session === undefined) this.#parts.sessions.leave(this);
    else if (this.#owns) this.#parts.sessions.end(this.session, why);
    else this.#parts.sessions.detach(this.session);
  }

  /** No pong came: the slot is freed without waiting for the socket. */
  lost(): void {
    this.closed("no answer to pings");
    this.#parts.ws.close(CLOSE_CODES.noPong, "no answer to pings");
  }

  /** The server stops: closes as soon as the answer in flight is out. */
  goAway(): void {
    this.#goingAway = true;
    // One that waits for its session has nothing in flight.
    const idle = !this.#blocked || (this.session === undefined && this.batch === undefined);
    if (idle) this.#parts.ws.close(CLOSE_CODES.restart, SHUTTING_DOWN);
  }

  #startBatch(): void {
    this.batch = new Batch(this.#parts.sessions, this.#parts.orchestrator);
    this.#unblock();
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
    session.orchestrated ||= this.#parts.orchestrator;
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
    const { protocol } = this.#parts;
    const answer = isBinary ? protocol.binary(this, data) : protocol.answer(this, data.toString());
    if (isThenable(answer)) {
      this.#blocked = true;
      void answer.then((late) => {
        this.#deliver(late);
        if (!this.#waitForDrain()) this.#unblock();
      });
    } else {
      this.#deliver(answer);
      this.#waitForDrain();
    }
  }

  #deliver(answer: Answer | null): void {
    if (answer !== null) return this.#send(answer);
    this.#parts.ws.close(CLOSE_CODES.normal);
    this.closed("closed by the client");
  }

  #send(answer: Answer): void {
    const { ws, socket } = this.#parts;
    this.answered = true;
    // Answers of one turn leave in one write.
    if (!this.#corked) {
      this.#corked = true;
      socket.cork();
      process.nextTick(uncork, this);
    }
    ws.send(answer);
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
