import type { Fault } from "../../errors.js";
import { errorData } from "../../protocol/messages.js";
import { clip } from "../../util/text/clip.js";
import type { Session } from "../session.js";
import { SessionRejectedError } from "../session-rejected-error.js";
import { FIRST_USE_MS } from "./unclaimed.js";

/** Maximum number of ended sessions whose reason is kept. */
const MAX_REASONS = 1000;

/** The sessions that requests can name. Other sessions are known only to their socket. */
export class NamedSessions {
  readonly #byId = new Map<string, Session>();
  readonly #reasons = new Map<string, string>();

  /** Lets requests name the session by its id, unless it has already ended. */
  add(session: Session): void {
    if (!session.ended) this.#byId.set(session.id, session);
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  get(id: string): Session | undefined {
    return this.#byId.get(id);
  }

  /** Stores why a session ends, for later requests that name it. */
  remember({ id }: Session, reason: string): void {
    if (!this.#byId.has(id)) return;
    this.#reasons.set(id, reason);
    const [first] = this.#reasons.keys();
    if (this.#reasons.size > MAX_REASONS && first !== undefined) this.#reasons.delete(first);
  }

  /** The error message for an unknown id. */
  describeMissing(id: string): string {
    const reason = this.#reasons.get(id);
    const shown = `"${clip(id, 100)}"`;
    return reason === undefined
      ? `No session ${shown} is open here; it may have timed out.`
      : `Session ${shown} ${reason}.`;
  }

  delete(session: Session): void {
    this.#byId.delete(session.id);
  }

  /** Finds a session and marks it as in use. */
  find(id: string): Session | undefined {
    const session = this.#byId.get(id);
    if (session === undefined) return undefined;
    session.claim();
    session.touch();
    return session;
  }

  /**
   * The session that a socket names. @throws SessionRejectedError (SESSION_ERROR) when it is not open or already
   * attached.
   */
  findUnattached(id: string): Session {
    const session = this.find(id);
    if (session === undefined) throw reject(this.describeMissing(id), "infrastructure");
    if (session.attached) throw reject(`Session "${id}" is attached to another socket.`, "client");
    if (session.state !== "ready") throw reject(`Session "${id}" is not ready.`, "client");
    return session;
  }

  /**
   * Sessions without a socket that have timed out. Sessions with a call in flight or a connected peer never time out.
   */
  overdue(now: number, timeoutMs: number): Session[] {
    return [...this.#byId.values()].filter(({ attached, peer, busy, lastActivityAt }) => {
      const limit = peer?.silent ? Math.min(timeoutMs, FIRST_USE_MS) : timeoutMs;
      return !attached && !peer?.connected && !busy && now - lastActivityAt >= limit;
    });
  }
}

function reject(message: string, fault: Fault): SessionRejectedError {
  return new SessionRejectedError(errorData("SESSION_ERROR", message, { fault }));
}
