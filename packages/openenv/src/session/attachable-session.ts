import type { JsonObject } from "../protocol/messages.js";
import type { ServerViewSession } from "../protocol/web.js";
import { makeId } from "../util/make-id.js";
import type { Progress } from "./calls/session-event.js";
import { errorMessage } from "./messages/message-codec.js";

/** The name of a peer that a plugin has recognised. */
export interface Principal {
  /** For logs, quotas and the setting `operators`. */
  readonly name: string;
  /** What else the plugin knows about it, for the plugin itself. */
  readonly claims?: Readonly<JsonObject>;
  /** What it may do in addition to what clients may. */
  readonly rights?: readonly "read-rollouts"[];
}

/** The peer that opened a session. */
export interface SessionOpener {
  client: ServerViewSession["client"];
  /** The peer has the orchestrator's token. Peers without it cannot end the session. It grants no other right. */
  orchestrator: boolean;
  principal?: Principal | undefined;
  /** The trace context of the request that opens the session, as the W3C header `traceparent`. */
  traceparent?: string | undefined;
  /** Called once when the session has ended or could not open. */
  release?: (() => void) | undefined;
  /** The id of a session that has one before it opens: it is restored, or the handshake has named it. */
  id?: string | undefined;
  /** SHA-256 of the name in its address, hexadecimal. */
  nameHash?: string | undefined;
  /** The session was in the journal: it may take one of the slots that are reserved for those. */
  isRestored?: boolean;
  /** The data of the reset with which the server itself begins its only episode. */
  start?: JsonObject | undefined;
}

export const RESET_ELSEWHERE = errorMessage(
  "RESET_ELSEWHERE",
  "the server is paused or stops: reset on another server, or here once more",
);
export const OVER_HTTP: SessionOpener = { client: "http", orchestrator: false };

/** An MCP client (Streamable HTTP) of a session. */
export interface SessionPeer {
  /** The client has an open stream, so the session does not time out. */
  readonly connected: boolean;
  /** The client has opened a session and has not used it. */
  readonly silent: boolean;
  /** Called when the session has ended. */
  end(): void;
}

/** A client that watches a session without using it. */
interface SessionObserver {
  /** A watched session does not end to make room. */
  readonly isWatching: boolean;
  /** Called when the session has ended. */
  ended(reason: string): void;
}

/** The socket of a session. */
interface SessionSocket {
  /** Called when the session has ended. */
  sessionEnded(reason: string): void;
  /** True for one of several sessions that outlive their connection together. */
  isGroupResumable?(): boolean;
}

/** The sessions that end when another client needs capacity. */
interface UnclaimedList {
  claim(session: AttachableSession): void;
}

/** Names a session, and tracks who opened it and who uses it: a socket, an MCP client, or no one yet. */
export abstract class AttachableSession {
  readonly client: SessionOpener["client"];
  readonly ownedByOrchestrator: boolean;
  readonly nameHash: string | undefined;
  readonly start: JsonObject | undefined;
  readonly principal: Principal | undefined;
  readonly traceparent: string | undefined;
  observer: SessionObserver | undefined;
  /** When a session that is kept for its client lost its connection, by `performance.now()`; undefined while it has one. */
  detachedAt: number | undefined;
  /** Its number on its batch socket. */
  member: number | undefined;
  batchId: string | undefined;
  /** Index in the registry of open sessions. */
  index = -1;
  /** The list that is notified of the next use. */
  protected unclaimed: UnclaimedList | undefined;
  /** Only the orchestrator may call reset, step and state. */
  protected guarded = false;
  /** Why the session before this one was lost, until the next reset. */
  protected lost: string | undefined;
  readonly #idPrefix: string;
  #id: string | undefined;
  #tag: number | undefined;
  #socket: SessionSocket | undefined;
  #endsOnDetach = false;
  #peer: SessionPeer | undefined;
  /** The client was asked to make its next reset on another server. */
  #isAsked = false;
  readonly #release: SessionOpener["release"];

  constructor(
    idPrefix: string,
    { client, orchestrator, start, id, nameHash, principal, traceparent, release }: SessionOpener = OVER_HTTP,
  ) {
    this.#idPrefix = idPrefix;
    this.#id = id;
    this.client = client;
    this.nameHash = nameHash;
    this.ownedByOrchestrator = orchestrator;
    this.start = start;
    this.principal = principal;
    this.traceparent = traceparent;
    this.#release = release;
  }

  get id(): string {
    return (this.#id ??= makeId(this.#idPrefix));
  }

  /** The server and the journal find a durable session by this: the hash of its client's name for it, or its id. */
  get key(): string {
    return this.nameHash ?? this.id;
  }

  /**
   * The first eight characters of the id, without its prefix, as a number: identifies the session but grants no access.
   */
  get tag(): number {
    if (this.#tag !== undefined) return this.#tag;
    const start = this.id.startsWith("w") ? this.id.indexOf("-") + 1 : 0;
    return (this.#tag = Number.parseInt(this.id.slice(start, start + 8), 16) | 0);
  }

  /** Only the orchestrator may reset, step and read the state from now on, also on a server without its token. */
  guard(): void {
    this.guarded = true;
  }

  /** Everything but a reset is rejected until the next episode: the client's last one was lost with its session. */
  requireReset(reason: string): void {
    this.lost = reason;
  }

  /** A socket uses the session, so it does not time out. */
  get attached(): boolean {
    return this.#socket !== undefined;
  }

  /** The client that uses the session over Streamable HTTP. */
  get peer(): SessionPeer | undefined {
    return this.#peer;
  }

  /** Sets the list that is notified of the next use of the session, if any. */
  listIn(unclaimed: UnclaimedList | undefined): void {
    this.unclaimed = unclaimed;
  }

  get isGroupResumable(): boolean {
    return this.#socket?.isGroupResumable?.() === true;
  }

  get isListed(): boolean {
    return this.unclaimed !== undefined;
  }

  /** Called when the client uses the session, which is then no longer ended to make room. */
  claim(): void {
    this.unclaimed?.claim(this);
  }

  attach(socket: SessionSocket): void {
    this.#socket = socket;
    this.detachedAt = undefined;
  }

  /** Detaches the socket. Returns true when the session must end as well. */
  detach(): boolean {
    this.#socket = undefined;
    return this.#endsOnDetach;
  }

  /** Ends the session when its socket detaches. */
  endOnDetach(): void {
    this.#endsOnDetach = true;
  }

  /** Attaches an MCP client. Returns the client that it replaces. */
  join(peer: SessionPeer): SessionPeer | undefined {
    const before = this.#peer;
    this.#peer = peer;
    return before;
  }

  /** Detaches an MCP client. Returns false when another client has replaced it. */
  leave(peer: SessionPeer): boolean {
    if (this.#peer !== peer) return false;
    this.#peer = undefined;
    return true;
  }

  /** Asks once for each reset: a client that finds no other server repeats it. An agent would not follow the client. */
  protected asksToMove({ episodes, callsAreSteps }: Progress): boolean {
    return (this.#isAsked = !this.#isAsked && episodes > 0 && !callsAreSteps);
  }

  protected notifyEnded(reason: string): void {
    this.#socket?.sessionEnded(reason);
    this.#peer?.end();
    this.observer?.ended(reason);
    this.#release?.();
  }
}
