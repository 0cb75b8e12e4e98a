import { Inflow, type InflowParts, PAGE_LEFT } from "#parts/sockets";
import { CLOSE_CODES, type Extension } from "../../protocol/messages.js";
import type { Principal, SessionOpener } from "../../session/attachable-session.js";
import { Batch } from "../../session/batch.js";
import type { AddressPeer } from "../../session/calls/call.js";
import { Cancels } from "../../session/calls/cancels.js";
import {
  type AddressHolder,
  type AddressUse,
  type KeptSession,
  type ResumeFrames,
  type ResumingSocket,
  type SessionAddresses,
  WITHHELD,
  type Withheld,
} from "../../session/registry/session-keeper.js";
import type { Sessions } from "../../session/registry/sessions.js";
import { Session } from "../../session/session.js";
import type { SessionRejectedError } from "../../session/session-rejected-error.js";
import { isThenable } from "../../util/async/thenable.js";
import { clipReason } from "../../util/text/clip.js";
import { readCancel } from "./cancel-frame.js";
import type { SentReply } from "./encode-reply.js";
import type { ConnectionContext, SocketProtocol } from "./protocol.js";

const SHUTTING_DOWN = "the server is shutting down";

export interface ConnectionParts extends InflowParts {
  protocol: SocketProtocol;
  sessions: Sessions;
  /** True when the upgrade request had the orchestrator's token. */
  orchestrator: boolean;
  principal?: Principal | undefined;
  /** That of the handshake. */
  traceparent: string | undefined;
  /** The address of `/session/<name>/ws`. */
  address?: SocketAddress | undefined;
}

interface SocketAddress {
  /** The hash of the name in the path. */
  hash: string;
  addresses: SessionAddresses;
  /** An equal step on the next connection gets the answer that this one could not send. */
  retry: boolean | undefined;
}

/**
 * One socket: its frames are answered one at a time, in order. It has its own session, is attached to a named one or to
 * that of its address, or has a batch of sessions.
 */
export class Connection extends Inflow implements ConnectionContext, AddressHolder, ResumingSocket, AddressPeer {
  /** Set by {@link start}, before frames are answered. */
  session!: Session;
  batch: Batch | undefined;
  durable: KeptSession | undefined;
  resume: ResumeFrames | undefined;
  extensions: readonly Extension[] = [];
  /** True once the first answer has been sent. */
  answered = false;
  /** Sends the peer its place in the queue; set only if the peer requested views. */
  queued: ((place: number) => void) | undefined;
  readonly orchestrator: boolean;
  readonly principal: Principal | undefined;
  readonly traceparent: string | undefined;
  readonly isSerial = true;
  readonly retries: boolean;
  readonly #protocol: SocketProtocol;
  readonly #sessions: Sessions;
  readonly #address: SocketAddress | undefined;
  /** The session that the query names. */
  #sessionId: string | null = null;
  #owns = true;
  #draining = false;
  /** Set with the extension `cancel`. */
  #cancels: Cancels | undefined;

  constructor(parts: ConnectionParts) {
    super(parts);
    this.#protocol = parts.protocol;
    this.#sessions = parts.sessions;
    this.orchestrator = parts.orchestrator;
    this.principal = parts.principal;
    this.traceparent = parts.traceparent;
    this.#address = parts.address;
    this.retries = parts.address?.retry === true;
  }

  /** Opens the session, with `newId` if it has one, or attaches to the named one; then handles the frames that wait. */
  start(sessionId: string | null, newId?: string): void {
    const { ws } = this;
    const sessions = this.#sessions;
    this.#sessionId = sessionId;
    this.#owns = sessionId === null;
    if (this.extensions.includes("cancel")) this.#cancels = new Cancels();
    const { queued } = this.#protocol;
    if (queued && this.extensions.includes("view")) this.queued = (place) => ws.send(queued(place));
    if (this.#address !== undefined) {
      // The first valid message opens the session, or continues it.
      this.#address.addresses.expect(this.#address.hash, this);
      return this.unblock();
    }
    if (this.extensions.includes("resume")) {
      this.resume = sessions.keeper?.framesFor(this, { id: sessionId, opener: this.#opener });
      // It has no session before it has shown the token of one.
      if (sessionId !== null) return this.unblock();
    }
    if (this.extensions.includes("batch")) {
      if (sessionId === null) {
        this.batch = new Batch(sessions, newId, this.#opener);
        this.heavyBytes = 0;
        return this.unblock();
      }
      this.extensions = this.extensions.filter((name) => name !== "batch");
    }
    try {
      const opened =
        sessionId === null ? sessions.open(this, { ...this.#opener, id: newId }) : sessions.findUnattached(sessionId);
      if (!isThenable(opened)) return this.#adopt(opened);
      const refuse = (error: SessionRejectedError): void => this.#reject(error);
      opened.then((session) => this.#adopt(session), refuse);
    } catch (error) {
      this.#reject(error as SessionRejectedError);
    }
  }

  get #opener(): SessionOpener {
    const { orchestrator, principal, traceparent } = this;
    return { client: this.#protocol.client, orchestrator, principal, traceparent };
  }

  get peer(): AddressPeer | undefined {
    return this.#address && this;
  }

  /** A request of a resumable session can be cancelled on the next connection. */
  get cancels(): Cancels | undefined {
    return this.#cancels && (this.durable?.cancels ?? this.#cancels);
  }

  /** A frame `cancel` overtakes the frames that wait. */
  override receive(data: Buffer | string, isBinary: boolean): void {
    const { cancels } = this;
    const found = cancels === undefined || isBinary ? undefined : readCancel(data);
    if (found === undefined) super.receive(data, isBinary);
    else if (!this.ended) cancels?.cancel(found.seq, this.waits);
  }

  use(target: KeptSession["target"]): void {
    if (target instanceof Session) {
      this.session = target;
      target.attach(this);
    } else {
      this.batch = target as Batch;
      this.batch.attach();
      this.heavyBytes = 0;
    }
  }

  fence(): void {
    this.#leave(CLOSE_CODES.resumedElsewhere, "another connection has resumed the session");
  }

  moved(): void {
    this.#leave(CLOSE_CODES.restart, "the session continues in another process: resume it");
  }

  /** The session is not that of this connection any more. */
  #leave(code: number, reason: string): void {
    this.forget();
    if (this.ended) return;
    this.ended = true;
    this.ws.close(code, reason);
  }

  endAfterAnswer(code: number, reason: string): void {
    this.ended = true;
    setImmediate(() => this.ws.close(code, clipReason(reason)));
  }

  /** Frees the slot at once, even if a step is still running; a resumable session is kept for its client. */
  closed(reason: string): void {
    this.forget();
    if (this.ended) return;
    this.ended = true;
    const isPage = reason === PAGE_LEFT;
    const why = this.#draining ? SHUTTING_DOWN : isPage ? "disconnected" : reason;
    const isKept = !this.#draining || this.durable?.isRestorable === true;
    if (this.durable !== undefined && isKept) this.#sessions.keeper?.detach(this.durable, isPage);
    else if (this.batch !== undefined) this.batch.end(why);
    else if (this.session === undefined && this.#address !== undefined)
      this.#address.addresses.leave(this.#address.hash, this);
    else if (this.session === undefined) this.#sessions.leave(this);
    else if (this.#owns) this.#sessions.end(this.session, why);
    else this.#sessions.detach(this.session);
  }

  /** Called when the server stops: closes once the answer in flight is sent. */
  drain(): void {
    this.#draining = true;
    // A socket that waits for its session has no answer in flight.
    const isIdle = (!this.blocked && !this.scheduled) || (this.session === undefined && this.batch === undefined);
    if (isIdle) this.ws.close(CLOSE_CODES.restart, SHUTTING_DOWN);
  }

  /**
   * On a server that is paused or stops, closes the socket of a client without `move` once its episode has ended: it
   * connects again with its next reset, if it has the close frame by then. Returns false when nothing was sent.
   */
  leaveIfOver(last?: SentReply): boolean {
    const { extensions, durable, session } = this;
    if (!this.#sessions.departure.hasBegun || this.ended || session?.progress.done !== true || session.busy)
      return false;
    const isReached = extensions.includes("move") || extensions.includes("view") || durable !== undefined;
    if (isReached || !this.#owns || this.#address !== undefined) return false;
    this.ws.together(() => {
      if (last !== undefined) this.sendLast(last);
      this.#leave(CLOSE_CODES.restart, "the server is paused or stops: reset on another server");
    });
    this.#sessions.end(session, "left at the end of its episode");
    return true;
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
    if (session.state !== "ready") return this.sessionEnded("the session ended while it was being opened");
    session.attach(this);
    // A page may fork it.
    if (this.extensions.includes("view")) session.events.keepIfNeeded();
    if (this.#owns) this.#sessions.markUnclaimed(session);
    this.unblock();
  }

  /** Called when the session was not ended by this socket: there is no frame for it, so the close code reports it. */
  sessionEnded(reason: string): void {
    if (this.ended) return;
    this.ended = true;
    this.ws.close(CLOSE_CODES.sessionEnded, clipReason(reason));
  }

  protected handle(data: Buffer | string, isBinary: boolean): void {
    if (this.#address !== undefined && this.durable === undefined && !isBinary) {
      const use = this.#protocol.addressUse(data.toString());
      if (use !== undefined) return void this.#attach(this.#address, use, data);
    }
    this.#answer(data, isBinary);
  }

  /** Answers a message once the session of the address is attached. */
  async #attach({ hash, addresses }: SocketAddress, use: AddressUse, data: Buffer | string): Promise<void> {
    this.blocked = true;
    try {
      const id = this.#sessionId ?? undefined;
      await addresses.attach(hash, { use, opener: this.#opener, holder: this, id });
    } catch (error) {
      const { data: refusal } = error as SessionRejectedError;
      if (this.ended) return;
      if (refusal.openenv_code !== "NO_EPISODE" && refusal.code !== "FORBIDDEN") {
        addresses.leave(hash, this);
        return this.#reject(error as SessionRejectedError);
      }
      this.send(this.#protocol.reject(error as SessionRejectedError));
      return this.unblock();
    }
    if (this.ended) return;
    this.blocked = false;
    this.#answer(data, false);
    if (!this.blocked) this.unblock();
  }

  take(durable: KeptSession): void {
    // The peer has left meanwhile.
    if (this.ended) return this.#sessions.keeper?.detach(durable);
    this.durable = durable;
    this.use(durable.target);
  }

  #answer(data: Buffer | string, isBinary: boolean): void {
    const protocol = this.#protocol;
    const { cancels } = this;
    if (this.durable === undefined) cancels?.begin();
    const answer =
      isBinary && typeof data !== "string" ? protocol.binary(this, data) : protocol.answer(this, data.toString());
    if (isThenable(answer)) this.#answerLater(answer, cancels);
    else if (answer === null) this.#endByPeer();
    else {
      this.answered = true;
      cancels?.end();
      if (this.leaveIfOver(answer)) return;
      this.send(answer);
      this.waitForDrain();
    }
  }

  #answerLater(answer: Promise<SentReply | Withheld | null>, cancels: Cancels | undefined): void {
    this.blocked = true;
    void answer.then((late) => {
      if (late === WITHHELD) return this.moved();
      this.answered = true;
      if (!this.ended) cancels?.end();
      if (late === null) this.#endByPeer();
      else if (this.leaveIfOver(late)) return;
      else if (this.waits) this.send(late);
      else this.sendLast(late);
      if (!this.waitForDrain()) this.unblock();
    });
  }

  protected idle(): void {
    if (this.#draining) this.drain();
  }

  #endByPeer(): void {
    this.ws.close(CLOSE_CODES.normal);
    // A socket that is attached by an id only leaves; the HTTP client that made the session ends it.
    const onlyLeaves =
      this.#address !== undefined &&
      (this.#sessionId !== null || this.#address.addresses.isReserved(this.orchestrator));
    if (this.durable !== undefined && !onlyLeaves) {
      this.durable.isReleased = true;
      this.durable = undefined;
      this.#owns = true;
    }
    this.closed("closed by the client");
  }
}
