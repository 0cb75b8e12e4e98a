import { WebSocket } from "ws";
import { CLOSE_CODES, type Extension } from "../../protocol/messages.js";
import type { Registry } from "../../session/registry/registry.js";
import type { Sessions } from "../../session/registry/sessions.js";
import type { Session } from "../../session/session.js";
import type { SessionRejectedError } from "../../session/session-rejected-error.js";
import { isThenable } from "../../util/async/thenable.js";
import { Batch } from "./batch.js";
import { Inflow, type InflowParts } from "./flow/inflow.js";
import type { ConnectionContext, SocketProtocol } from "./protocol.js";

const SHUTTING_DOWN = "the server is shutting down";

export interface ConnectionParts extends InflowParts {
  protocol: SocketProtocol;
  sessions: Sessions;
  /** The upgrade carried the orchestrator's token. */
  orchestrator: boolean;
}

/**
 * One socket: its frames are answered one at a time, in order. It has a session of its own, is attached to a named one,
 * or carries a batch of sessions.
 */
export class Connection extends Inflow implements ConnectionContext {
  /** Set from {@link start} on, while frames are answered. */
  session!: Session;
  batch: Batch | undefined;
  extensions: readonly Extension[] = [];
  /** The first answer has been sent. */
  answered = false;
  missedPings = 0;
  /** Tells the peer its place in the queue; only one that asked for views is told. */
  queued: ((place: number) => void) | undefined;
  /** The upgrade carried the orchestrator's token. */
  readonly orchestrator: boolean;
  readonly #protocol: SocketProtocol;
  readonly #sessions: Sessions;
  #owns = true;
  #draining = false;

  constructor(parts: ConnectionParts) {
    super(parts);
    this.#protocol = parts.protocol;
    this.#sessions = parts.sessions;
    this.orchestrator = parts.orchestrator;
  }

  /** Opens the session, or attaches to the named one, then handles what has come in meanwhile. */
  start(sessionId: string | null): void {
    const { ws } = this;
    const sessions = this.#sessions;
    this.#owns = sessionId === null;
    const { queued } = this.#protocol;
    if (queued && this.extensions.includes("view")) this.queued = (place) => ws.send(queued(place));
    if (this.extensions.includes("batch")) {
      if (sessionId === null) {
        this.batch = new Batch(sessions);
        this.heavyBytes = 0;
        return this.unblock();
      }
      this.extensions = this.extensions.filter((name) => name !== "batch");
    }
    try {
      const { client } = this.#protocol;
      const opened =
        sessionId === null
          ? sessions.open(this, { client, orchestrator: this.orchestrator })
          : sessions.named.findUnattached(sessionId);
      if (!isThenable(opened)) return this.#adopt(opened);
      const refuse = (error: SessionRejectedError): void => this.#reject(error);
      opened.then((session) => this.#adopt(session), refuse);
    } catch (error) {
      this.#reject(error as SessionRejectedError);
    }
  }

  /** The socket has closed. */
  gone(reason: string): void {
    this.closed(reason);
    this.release();
  }

  /** The slot is freed now, also when a step is still running. */
  closed(reason: string): void {
    this.forget();
    if (this.ended) return;
    this.ended = true;
    const why = this.#draining ? SHUTTING_DOWN : reason;
    if (this.batch !== undefined) this.batch.end(why);
    else if (this.session === undefined) this.#sessions.leave(this);
    else if (this.#owns) this.#sessions.end(this.session, why);
    else this.#sessions.detach(this.session);
  }

  /** The server stops: closes as soon as the answer in flight is out. */
  drain(): void {
    this.#draining = true;
    // One that waits for its session has nothing in flight.
    const isIdle = (!this.blocked && !this.scheduled) || (this.session === undefined && this.batch === undefined);
    if (isIdle) this.ws.close(CLOSE_CODES.restart, SHUTTING_DOWN);
  }

  #reject(refusal: SessionRejectedError): void {
    this.ended = true;
    this.answered = true;
    this.send(this.#protocol.reject(refusal));
    this.ws.close(CLOSE_CODES.normal);
  }

  #adopt(session: Session): void {
    this.session = session;
    if (this.ended) {
      this.#sessions.end(session, "disconnected");
      return;
    }
    if (session.state !== "ready") return this.#sessionEnded("the session was ended while it was opened");
    session.attach((reason) => this.#sessionEnded(reason));
    if (this.#owns) this.#sessions.markUnclaimed(session);
    this.unblock();
  }

  /** Something else than this socket ended the session: no frame may say so, the close code does. */
  #sessionEnded(reason: string): void {
    if (this.ended) return;
    this.ended = true;
    this.ws.close(CLOSE_CODES.sessionEnded, reason);
  }

  protected handle(data: Buffer | string, isBinary: boolean): void {
    const protocol = this.#protocol;
    const answer =
      isBinary && typeof data !== "string" ? protocol.binary(this, data) : protocol.answer(this, data.toString());
    if (isThenable(answer)) {
      this.blocked = true;
      void answer.then((late) => {
        this.answered = true;
        if (late === null) this.#endByPeer();
        else this.send(late);
        if (!this.waitForDrain()) this.unblock();
      });
    } else if (answer === null) this.#endByPeer();
    else {
      this.answered = true;
      this.send(answer);
      this.waitForDrain();
    }
  }

  protected idle(): void {
    if (this.#draining) this.drain();
  }

  #endByPeer(): void {
    this.ws.close(CLOSE_CODES.normal);
    this.closed("closed by the client");
  }
}

/** Its connection sits on the socket: no closure and no map entry a session. */
export class SessionSocket extends WebSocket {
  connection!: Connection;
  group!: Registry<SessionSocket>;
  index = -1;

  listen(): void {
    this.on("message", onMessage);
    this.on("ping", onPing);
    this.on("pong", onPong);
    this.on("error", onProtocolError);
    this.on("close", onClose);
  }
}

function onMessage(this: WebSocket, data: unknown, isBinary: boolean): void {
  (this as SessionSocket).connection.receive(data as Buffer, isBinary);
}

function onPing(this: WebSocket, payload: Buffer): void {
  (this as SessionSocket).connection.pinged(payload);
}

function onPong(this: WebSocket, payload: Buffer): void {
  (this as SessionSocket).connection.ponged(payload);
}

function onClose(this: WebSocket, code: number): void {
  const ws = this as SessionSocket;
  ws.group.remove(ws);
  ws.connection.gone(code === CLOSE_CODES.tooLarge ? "a frame was too large" : "disconnected");
}

function onProtocolError(this: WebSocket): void {
  (this as SessionSocket).connection.stopTracking();
}
