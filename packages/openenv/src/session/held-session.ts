import type { ServerViewSession } from "../protocol/web.js";

/** Who opened a session. */
export interface SessionOpener {
  client: ServerViewSession["client"];
  /** The peer carries the orchestrator's token: a peer without it may not end the session. It gives no right to drive. */
  orchestrator: boolean;
}

const OVER_HTTP: SessionOpener = { client: "http", orchestrator: false };

/** A client of real MCP that talks to a session. */
export interface SessionPeer {
  /** It holds a stream open, so the session does not time out. */
  readonly connected: boolean;
  /** It has asked for a session of its own, and for nothing since. */
  readonly silent: boolean;
  /** The session has ended. */
  end(): void;
}

/** A list of sessions that end when another client needs room. */
interface UnclaimedList {
  claim(session: HeldSession): void;
}

/** Who opened a session, and who holds it: a socket, a client of real MCP, or nobody yet. */
export abstract class HeldSession {
  readonly client: SessionOpener["client"];
  readonly ownedByOrchestrator: boolean;
  /** Where the registry of open sessions has it. */
  index = -1;
  /** The list that hears of the next use. */
  protected unclaimed: UnclaimedList | undefined;
  #onEnded: ((reason: string) => void) | undefined;
  #endsOnDetach = false;
  #peer: SessionPeer | undefined;

  constructor({ client, orchestrator }: SessionOpener = OVER_HTTP) {
    this.client = client;
    this.ownedByOrchestrator = orchestrator;
  }

  /** A socket serves the session: it does not time out. */
  get attached(): boolean {
    return this.#onEnded !== undefined;
  }

  /** The client that talks to it over Streamable HTTP. */
  get peer(): SessionPeer | undefined {
    return this.#peer;
  }

  /** Reports the next use of the session to a list; undefined for none. */
  listIn(unclaimed: UnclaimedList | undefined): void {
    this.unclaimed = unclaimed;
  }

  /** Its client uses the session: it does not end to make room any more. */
  claim(): void {
    this.unclaimed?.claim(this);
  }

  /** A socket serves the session from now on. `onEnded` is called when the session ends. */
  attach(onEnded: (reason: string) => void): void {
    this.#onEnded = onEnded;
  }

  /** The socket has closed. True when the session is to end with it. */
  detach(): boolean {
    this.#onEnded = undefined;
    return this.#endsOnDetach;
  }

  /** Its client has closed the session while a socket is attached: it ends when that detaches. */
  endOnDetach(): void {
    this.#endsOnDetach = true;
  }

  /** A client of real MCP talks to the session from now on; the result is the one that it replaces. */
  join(peer: SessionPeer): SessionPeer | undefined {
    const before = this.#peer;
    this.#peer = peer;
    return before;
  }

  /** False when another client has taken its place. */
  leave(peer: SessionPeer): boolean {
    if (this.#peer !== peer) return false;
    this.#peer = undefined;
    return true;
  }

  protected notifyEnded(reason: string): void {
    this.#onEnded?.(reason);
    this.#peer?.end();
  }
}
