import { createHash } from "node:crypto";
import type { JsonObject } from "openenv-ts/protocol";
import type { Host, HostContent, HostError, HostRequest, HostSession } from "../host.js";
import { Refusal, SessionFailure } from "./refusal.js";

/** Ids of deleted sessions, so that later requests get 410 with the reason. */
const MAX_DELETED = 10_000;
/** The time that a request waits for the first reset. */
const SETUP_WAIT_MS = 25_000;
/** Nothing has run, and the client tries again for up to ten minutes. */
export const STARTING = { "x-backend-state": "starting", "retry-after": "2" };
/** An id that cannot be guessed; any client may make its own. */
const ID = /^[A-Za-z0-9_-]{16,128}$/;

/** The address of the session: `/session/<id>` is the same session. */
function addressOf(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}

/** A session that is being opened, also after its client has disconnected: the client may repeat the request. */
interface Opening {
  reset: JsonObject;
  /** Identifies the request in the queue for a slot. */
  waiter: object;
  done: Promise<void>;
}

/** A session of an ORS client. */
export interface OrsSession {
  readonly session: HostSession;
  /** Resolves after the reset, or its failure. */
  ready: Promise<void>;
  isReady: boolean;
  /** What the first observation shows; undefined if another process has made it. */
  prompt: HostContent[] | undefined;
  /** Why the reset failed. */
  failure: HostError | undefined;
}

/**
 * The sessions of ORS clients, by the ids that they send as `X-Session-ID`. They are sessions by address: they expire like
 * all others, and another process continues them with a journal.
 */
export class OrsSessions {
  readonly #host: Host;
  readonly #opening = new Map<string, Opening>();
  readonly #known = new WeakMap<HostSession, OrsSession>();
  readonly #deleted = new Set<string>();

  constructor(host: Host) {
    this.#host = host;
  }

  get #hasJournal(): boolean {
    return this.#host.context.sessions.keeper?.hasJournal === true;
  }

  /** With a journal, another worker than the one that the id names may have continued the session. */
  key(id: string): { id: string } | { address: string } {
    return this.#hasJournal ? { address: addressOf(id) } : { id };
  }

  /** The session, which this request keeps from expiring; undefined while it opens. @throws Refusal (404, 410) */
  async find(ctx: HostRequest, id: string): Promise<OrsSession | undefined> {
    if (this.#opening.has(id)) return undefined;
    const session = await this.#attach(ctx, id, "find");
    if (session !== undefined) return this.#adopt(ctx, session);
    const lost = this.#host.context.sessions.keeper?.reasonFor(addressOf(id));
    const reason = this.#deleted.has(id) ? "its client deleted it" : lost;
    if (reason !== undefined) throw new Refusal(410, `The session has ended: ${reason}`);
    throw new Refusal(404, "Active environment not found: POST /create opens it");
  }

  /** Waits for the reset. @throws Refusal (503) when it takes long, SessionFailure when it failed. */
  async findReady(ctx: HostRequest, id: string): Promise<OrsSession> {
    const found = await this.find(ctx, id);
    if (found !== undefined && !found.isReady) await within(found.ready, SETUP_WAIT_MS);
    if (!found?.isReady) throw new Refusal(503, "The environment is still starting", STARTING);
    if (found.session.ended) return this.findReady(ctx, id);
    if (found.failure !== undefined) throw new SessionFailure(found.failure);
    return found;
  }

  /** What the agent reads first. @throws as {@link findReady}. */
  async prompt(ctx: HostRequest, id: string): Promise<HostContent[]> {
    const found = await this.findReady(ctx, id);
    if (found.prompt !== undefined) return found.prompt;
    if (found.session.stepCount > 0 || found.session.busy) {
      throw new Refusal(404, "The server has restarted since the reset, and has no prompt after the first call");
    }
    // The process that made the prompt ended before it was read. Another request may already have begun the reset.
    if (found.isReady) this.#begin(ctx, found);
    return this.prompt(ctx, id);
  }

  /**
   * Opens a session and begins its reset, for which it does not wait. Repeated before the first step it does nothing more:
   * the client has not got the answer.
   * @throws Refusal (400) for an id in use; SessionRejectedError at capacity or when the factory fails.
   */
  async create(ctx: HostRequest, id: string, reset: JsonObject): Promise<void> {
    const { runtime } = this.#host.context;
    // With a journal, a session continues in another worker than the one that its id names.
    if (!ID.test(id) || (!this.#hasJournal && !id.startsWith(runtime.idPrefix))) {
      throw new Refusal(400, "X-Session-ID is not the id of a session: take it from POST /create_session");
    }
    const opening = this.#opening.get(id);
    if (opening === undefined) return this.#start(ctx, id, reset);
    if (!isSame(opening.reset, reset)) throw inUse();
    return opening.done;
  }

  #start(ctx: HostRequest, id: string, reset: JsonObject): Promise<void> {
    const own: Opening = { reset, waiter: {}, done: Promise.resolve() };
    this.#opening.set(id, own);
    own.done = this.#open(ctx, id, own).finally(() => {
      if (this.#opening.get(id) === own) this.#opening.delete(id);
    });
    return own.done;
  }

  async #open(ctx: HostRequest, id: string, own: Opening): Promise<void> {
    const { sessions } = this.#host.context;
    const { reset } = own;
    const open = await this.#attach(ctx, id, "find");
    const isOther = open !== undefined && (!isSame(open.start, reset) || open.stepCount > 0);
    if (isOther || (open === undefined && isUsed(sessions, id))) throw inUse();
    const session = open ?? ((await this.#attach(ctx, id, "open", own)) as HostSession);
    // Its client has deleted it meanwhile.
    if (this.#opening.get(id) !== own) return this.#release(session);
    this.#deleted.delete(id);
    this.#adopt(ctx, session);
  }

  /** Ends a session; of one that is unknown or has ended nothing is left to do. @throws Refusal (403) */
  async delete(ctx: HostRequest, id: string): Promise<void> {
    const { addresses, authorization } = this.#host.context;
    const opening = this.#opening.get(id);
    if (opening !== undefined) {
      this.#opening.delete(id);
      addresses.leave(addressOf(id), opening.waiter);
      this.#forget(id);
    }
    const session = await this.#attach(ctx, id, "find");
    if (session === undefined) return;
    if (session.ownedByOrchestrator && !authorization.isOrchestrator(ctx.request.headers)) {
      throw new Refusal(
        403,
        "The session belongs to the orchestrator: send OPENENV_ORCHESTRATOR_TOKEN as bearer token",
      );
    }
    this.#forget(id);
    this.#release(session);
  }

  #release(session: HostSession): void {
    this.#host.context.sessions.release(session, "deleted by its client");
  }

  /** The session of the id, from the journal if another process has had it. */
  async #attach(ctx: HostRequest, id: string, use: "find" | "open", opening?: Opening) {
    const { addresses, authorization } = this.#host.context;
    if (!ID.test(id)) return undefined;
    const orchestrator = authorization.isOrchestrator(ctx.request.headers);
    const { principal } = ctx;
    const traceparent = this.#host.parts.headerTrace(ctx.request);
    const opener = { client: "http", orchestrator, principal, id, start: opening?.reset, traceparent } as const;
    const attached = await addresses.attach(addressOf(id), { use, opener, waiter: opening?.waiter });
    const session = attached?.target as HostSession | undefined;
    session?.claim();
    session?.touch();
    return session;
  }

  #adopt(ctx: HostRequest, session: HostSession): OrsSession {
    const known = this.#known.get(session);
    if (known !== undefined) return known;
    const isReady = session.progress.episodeId !== null;
    const entry = { session, ready: Promise.resolve(), isReady, prompt: undefined, failure: undefined };
    this.#known.set(session, entry);
    if (!isReady) this.#begin(ctx, entry);
    return entry;
  }

  #begin({ request }: HostRequest, entry: OrsSession): void {
    const orchestrator = this.#host.context.authorization.isOrchestrator(request.headers);
    entry.isReady = false;
    entry.ready = this.#reset(entry, orchestrator);
  }

  async #reset(entry: OrsSession, orchestrator: boolean): Promise<void> {
    const { parts } = this.#host;
    const { session } = entry;
    const message = { type: "reset", data: session.start ?? {} } as const;
    const reply = await session.call(message, { orchestrator });
    if (reply.type === "observation") {
      const { description } = session.runtime.definition.contract;
      const about: HostContent[] = description === "" ? [] : [{ type: "text", text: description }];
      entry.prompt = [...about, ...parts.renderContent(reply.data.observation)];
    } else entry.failure = reply.data as HostError;
    entry.isReady = true;
  }

  #forget(id: string): void {
    this.#deleted.add(id);
    const [first] = this.#deleted;
    if (this.#deleted.size > MAX_DELETED && first !== undefined) this.#deleted.delete(first);
  }
}

function isSame(start: JsonObject | undefined, reset: JsonObject): boolean {
  return JSON.stringify(start) === JSON.stringify(reset);
}

function isUsed({ named, keeper }: Host["context"]["sessions"], id: string): boolean {
  return named.find(id) !== undefined || keeper?.has(id) === true;
}

function inUse(): Refusal {
  return new Refusal(400, "Session already exists");
}

async function within(promise: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
