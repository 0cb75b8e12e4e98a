import { type ErrorData, errorData } from "#core/protocol/messages.js";
import { forbidden, lostEpisode } from "#core/session/failure.js";
import type {
  AddressHolder,
  AddressRequest,
  DurableHolder,
  SessionAddresses,
} from "#core/session/registry/session-keeper.js";
import type { Waiter } from "#core/session/registry/session-queue.js";
import type { Mode } from "#core/session/runtime.js";
import type { Session } from "#core/session/session.js";
import { SessionRejectedError } from "#core/session/session-rejected-error.js";
import { clip } from "#core/util/text/clip.js";
import type { DurableSession } from "../session/durable-session.js";
import { ANSWERS_FULL, type DurableSessions } from "../session/durable-sessions.js";

interface Opening {
  /** Undefined for an HTTP request, and once the socket has left. */
  holder: AddressHolder | undefined;
  /** The holder, or the HTTP request that waits. */
  waiter: Waiter | undefined;
  /** The session is open, and is being stored in the journal: no other client may use it before. */
  isStoring: boolean;
  /** Resolves when the session is open, or was cancelled. */
  over: Promise<void>;
  end(): void;
}

/** Sessions that clients reach by an address: `/session/<name>`. The key of an address is the hash of its name. */
export class Addresses implements SessionAddresses {
  readonly #durable: DurableSessions;
  readonly #mode: Mode;
  readonly #opening = new Map<string, Opening>();
  /** Sockets whose address has no session: their first message will open it. */
  readonly #expecting = new Map<string, DurableHolder>();

  constructor(durable: DurableSessions, mode: Mode) {
    this.#durable = durable;
    this.#mode = mode;
  }

  /** In production only the orchestrator may reset, step and end sessions by their address. */
  isReserved(orchestrator: boolean): boolean {
    return this.#mode === "production" && !orchestrator;
  }

  /** True when this server has the session of the address, is about to open it, or knows that it has been lost. */
  has(address: string): boolean {
    const durable = this.#durable;
    return (
      this.#expecting.has(address) ||
      this.#opening.has(address) ||
      durable.find(address) !== undefined ||
      durable.reasonFor(address) !== undefined
    );
  }

  /** Number of sessions that the connected sockets are about to open. */
  get expected(): number {
    return this.#expecting.size;
  }

  /** A socket has connected. */
  expect(address: string, holder: DurableHolder): void {
    if (!this.has(address)) this.#expecting.set(address, holder);
  }

  /**
   * The session of the address, opened if necessary. A socket takes it over from one that does not answer a ping.
   * @throws SessionRejectedError (SESSION_IN_USE, SESSION_ERROR, FORBIDDEN, CAPACITY_REACHED, FACTORY_ERROR, and
   * EXECUTION_ERROR with NO_EPISODE for a session that has been lost; with a journal also JOURNAL_UNAVAILABLE and
   * SESSION_ELSEWHERE).
   */
  async attach(address: string, request: AddressRequest): Promise<DurableSession | undefined> {
    const { use, opener, holder, id } = request;
    const durable = this.#durable;
    const { store } = durable;
    if (use !== "find") this.#expecting.delete(address);
    const isCall = use === "reset" || use === "call";
    if (isCall && this.isReserved(opener.orchestrator)) throw rejected(forbidden(use === "call" ? "step" : use));
    for (let isRestored = store === undefined; ; ) {
      const opening = this.#opening.get(address);
      const found = durable.find(address);
      if (!isRestored && opening === undefined && found === undefined) {
        await store?.restore(address, opener);
        isRestored = true;
        this.#prepare(durable.find(address)?.target as Session | undefined);
        continue;
      }
      if (id !== undefined && found?.target.id !== id) throw rejected(foreignId(id));
      const before = opening?.holder ?? found?.holder;
      if (holder !== undefined && before !== undefined) {
        if (await before.isAlive()) throw rejected(IN_USE);
        if (opening !== undefined) this.leave(address, before);
        before.fence();
        if (found?.holder === before) found.holder = undefined;
      } else if (opening !== undefined) {
        await opening.over;
      } else if (found !== undefined) {
        if (holder !== undefined) {
          durable.attach(found, holder);
          holder.take(found);
        } else found.detachedAt = performance.now();
        return found;
      } else if (use === "find") {
        return undefined;
      } else {
        return await this.#open(address, request);
      }
    }
  }

  /** A socket, or an HTTP request, has closed before its session was open. */
  leave(address: string, waiter: Waiter): void {
    if (this.#expecting.get(address) === waiter) this.#expecting.delete(address);
    const opening = this.#opening.get(address);
    if (opening?.waiter !== waiter) return;
    if (opening.isStoring) {
      opening.holder = undefined;
      return;
    }
    this.#opening.delete(address);
    this.#durable.sessions.leave(waiter);
    opening.end();
  }

  async #open(address: string, { use, opener, holder, waiter = holder }: AddressRequest): Promise<DurableSession> {
    const durable = this.#durable;
    const { sessions } = durable;
    const lost = durable.reasonFor(address);
    if (lost !== undefined && use === "call") throw rejected(lostEpisode(lost));
    if (!durable.makeRoom()) throw rejected(ANSWERS_FULL);
    let end = (): void => {};
    const over = new Promise<void>((resolve) => (end = resolve));
    const opening: Opening = { holder, waiter, isStoring: false, over, end };
    this.#opening.set(address, opening);
    try {
      const opened = sessions.open(waiter, { ...opener, nameHash: address });
      // The queue never settles the promise of a waiter that leaves.
      const session = await Promise.race([opened, over.then(gone)]);
      if (this.#opening.get(address) !== opening) sessions.end(session, "disconnected");
      if (session.ended) throw rejected(GONE);
      if (lost !== undefined) session.requireReset(lost);
      this.#prepare(session);
      const durableSession = durable.add(session, address, holder);
      opening.isStoring = true;
      await this.#store(durableSession, lost);
      if (session.ended) {
        durableSession.journal?.end(GONE.message);
        throw rejected(GONE);
      }
      if (opening.holder !== holder) {
        // The socket has left meanwhile.
        durable.detach(durableSession);
        throw rejected(GONE);
      }
      holder?.take(durableSession);
      if (durableSession.holder === undefined) sessions.keepDetached(session);
      else sessions.markUnclaimed(session);
      return durableSession;
    } finally {
      if (this.#opening.get(address) === opening) this.#opening.delete(address);
      end();
    }
  }

  #prepare(session: Session | undefined): void {
    if (session === undefined) return;
    if (this.#mode === "production") session.guard();
    this.#durable.sessions.named.add(session);
  }

  async #store(durableSession: DurableSession, lost: string | undefined): Promise<void> {
    try {
      await this.#durable.store?.add(durableSession, lost);
    } catch (error) {
      durableSession.isReleased = true;
      this.#durable.sessions.end(durableSession.target as Session, "it could not be stored");
      throw error;
    }
  }
}

function gone(): never {
  throw rejected(GONE);
}

function rejected(data: ErrorData): SessionRejectedError {
  return new SessionRejectedError(data);
}

const IN_USE = errorData(
  "SESSION_IN_USE",
  "Another client is connected to this session. Give each client its own name: /session/<name>.",
);
const GONE = errorData("SESSION_ERROR", "The session ended while it was being opened.");

function foreignId(id: string): ErrorData {
  const message = `Session "${clip(id, 100)}" is not the session of this address; openenv/session/create returns its id.`;
  return errorData("SESSION_ERROR", message, { fault: "client" });
}
