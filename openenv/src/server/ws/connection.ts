import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { CLOSE_CODES, type Extension } from "../../protocol/messages.js";
import { isThenable } from "../../util/thenable.js";
import type { ByteBudget } from "../byte-budget.js";
import type { Refusal } from "../refusal.js";
import type { Session } from "../session.js";
import type { Sessions } from "../sessions.js";
import { Batch } from "./batch.js";
import type { Answer } from "./format.js";
import { FrameQueue } from "./frame-queue.js";
import type { Conversation, SocketProtocol } from "./protocol.js";

/** Answers that the peer has not taken beyond which no more of its frames are read or handled, bytes. */
const HIGH_WATER = 4 * 1024 * 1024;
/** The same when the backlog of all connections is full: more than a socket takes at once. */
const FULL_HIGH_WATER = 64 * 1024;

const SHUTTING_DOWN = "the server is shutting down";

/** What all connections of a server share. */
export interface ConnectionLimits {
  /** Bytes that wait on either side of all connections: frames for their turn, answers for a slow reader. */
  readonly backlog: ByteBudget;
  /** Milliseconds in which a peer must take some of the answers that wait for it. */
  readonly stallMs: number;
}

export interface ConnectionParts {
  ws: WebSocket;
  socket: Socket;
  protocol: SocketProtocol;
  sessions: Sessions;
  limits: ConnectionLimits;
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
  /** Tells the peer its place in the queue; only one that asked for views is told. */
  queued: ((place: number) => void) | undefined;
  #bytesRead = -1;
  readonly #parts: ConnectionParts;
  #owns = true;
  #blocked = true;
  #corked = false;
  #paused = false;
  #ended = false;
  #goingAway = false;
  #queue: FrameQueue | undefined;
  /** Answers that the peer is waited for to take. */
  #untakenBytes = 0;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  get orchestrator(): boolean {
    return this.#parts.orchestrator;
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
    const { sessions, protocol, ws } = this.#parts;
    this.#owns = sessionId === null;
    const { queued } = protocol;
    if (queued && this.extensions.includes("view")) this.queued = (place) => ws.send(queued(place));
    if (this.extensions.includes("batch")) {
      if (sessionId === null) {
        this.batch = new Batch(sessions);
        return this.#unblock();
      }
      this.extensions = this.extensions.filter((name) => name !== "batch");
    }
    try {
      const opened = sessionId === null ? sessions.open(this) : sessions.named.attach(sessionId);
      if (!isThenable(opened)) return this.#adopt(opened);
      const refuse = (error: Refusal): void => this.#refuse(error);
      opened.then((session) => this.#adopt(session), refuse);
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
    this.#queue?.clear();
    this.#giveUntaken();
    if (this.#ended) return;
    this.#ended = true;
    const why = this.#goingAway ? SHUTTING_DOWN : reason;
    if (this.batch !== undefined) this.batch.end(why);
    else if (this.session === undefined) this.#parts.sessions.leave(this);
    else if (this.#owns) this.#parts.sessions.end(this.session, why);
    else this.#parts.sessions.detach(this.session);
  }

  /** No pong came: the slot is freed without waiting for the socket. Called again, waits no more for a last word. */
  lost(): void {
    const { ws } = this.#parts;
    if (this.#ended) return ws.terminate();
    this.closed("no answer to pings");
    ws.close(CLOSE_CODES.noPong, "no answer to pings");
  }

  /** The server stops: closes as soon as the answer in flight is out. */
  goAway(): void {
    this.#goingAway = true;
    // One that waits for its session has nothing in flight.
    const idle = !this.#blocked || (this.session === undefined && this.batch === undefined);
    if (idle) this.#parts.ws.close(CLOSE_CODES.restart, SHUTTING_DOWN);
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
    if (this.#owns) {
      session.client = this.#parts.protocol.client;
      session.ofOrchestrator = this.orchestrator;
      this.#parts.sessions.markUnclaimed(session);
    }
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

  /** True when the peer takes its answers too slowly: nothing more is read or handled until it has. */
  #waitForDrain(): boolean {
    const { ws, socket, limits } = this.#parts;
    const untaken = ws.bufferedAmount;
    if (untaken < FULL_HIGH_WATER || (untaken < HIGH_WATER && !limits.backlog.isFull)) return false;
    if (this.#ended) return true;
    this.#blocked = true;
    this.#untakenBytes = untaken;
    limits.backlog.hold(untaken);
    this.#pause();
    // Nothing is read, so that only what the peer takes counts as a sign of life.
    const onStall = (): void => this.#stalled();
    socket.setTimeout(limits.stallMs, onStall);
    socket.once("drain", () => {
      socket.setTimeout(0, onStall);
      this.#giveUntaken();
      this.#unblock();
    });
    return true;
  }

  #giveUntaken(): void {
    this.#parts.limits.backlog.give(this.#untakenBytes);
    this.#untakenBytes = 0;
  }

  /** A close frame would have to wait behind the answers. */
  #stalled(): void {
    this.closed("its answers were not taken");
    this.#parts.ws.terminate();
  }

  #unblock(): void {
    this.#blocked = false;
    while (!this.#blocked && !this.#ended) {
      const next = this.#queue?.shift();
      if (next === undefined) break;
      this.#answer(next.data, next.isBinary);
    }
    if (this.#paused && this.#untakenBytes === 0 && this.#queue?.isEmpty !== false) {
      this.#paused = false;
      this.#parts.ws.resume();
    }
    if (this.#goingAway && !this.#blocked) this.goAway();
  }

  #enqueue(data: Buffer, isBinary: boolean): void {
    if (this.#ended) return;
    this.#queue ??= new FrameQueue(this.#parts.limits.backlog);
    this.#queue.push({ data, isBinary });
    if (this.#queue.isFull) this.#pause();
  }

  #pause(): void {
    this.#paused = true;
    this.#parts.ws.pause();
  }

  static uncork(connection: Connection): void {
    connection.#corked = false;
    connection.#parts.socket.uncork();
  }
}

const { uncork } = Connection;
