import type { ContentBlock, ErrorData, JsonObject, RequestContext, Session } from "openenv-ts/internal";
import type { Host } from "../host.js";
import { Refusal, SessionFailure } from "./refusal.js";

/** Ids of ended sessions that are kept, so that their clients read that the session has ended. */
const MAX_ENDED = 10_000;
/** How long a request waits for the first reset. */
const SETUP_WAIT_MS = 25_000;
const STARTING = { "x-backend-state": "starting", "retry-after": "2" };
/** An id that cannot be guessed; any client may make its own. */
const ID = /^[A-Za-z0-9_-]{16,128}$/;

/** A session of an ORS client. */
export interface OrsSession {
  readonly id: string;
  /** Undefined while it opens. */
  session: Session | undefined;
  /** Resolves after the reset, or its failure. */
  ready: Promise<void>;
  isReady: boolean;
  /** What the first observation shows. */
  prompt: ContentBlock[];
  /** Why the reset failed. */
  failure: ErrorData | undefined;
}

/** The sessions of ORS clients, by the ids that they send as `X-Session-ID`. They expire like all others. */
export class OrsSessions {
  readonly #host: Host;
  readonly #open = new Map<string, OrsSession>();
  readonly #ended = new Set<string>();

  constructor(host: Host) {
    this.#host = host;
  }

  /** The session, which this request keeps from expiring. @throws Refusal (404, 410) */
  find(id: string): OrsSession {
    const found = this.#open.get(id);
    if (found !== undefined) {
      if (found.session !== undefined) this.#host.context.sessions.named.find(id);
      return found;
    }
    if (this.#ended.has(id)) throw new Refusal(410, "The session has ended: it was deleted, or was idle for too long");
    throw new Refusal(404, "Active environment not found: POST /create opens it");
  }

  /** Waits for the reset. @throws Refusal (503) when it takes long, SessionFailure when it failed. */
  async findReady(id: string): Promise<OrsSession & { session: Session }> {
    const found = this.find(id);
    if (!found.isReady) await within(found.ready, SETUP_WAIT_MS);
    if (!found.isReady) throw new Refusal(503, "The environment is still starting", STARTING);
    const { session, failure } = this.find(id);
    if (failure !== undefined) throw new SessionFailure(failure);
    return Object.assign(found, { session: session as Session });
  }

  /**
   * Opens a session and begins its reset, for which it does not wait.
   * @throws Refusal (400) for an id in use; SessionRejectedError at capacity or when the factory fails.
   */
  async create({ request, response }: RequestContext, id: string, reset: JsonObject): Promise<void> {
    const { context } = this.#host;
    const { sessions, authorization, runtime } = context;
    if (!ID.test(id) || !id.startsWith(runtime.idPrefix)) {
      throw new Refusal(400, "X-Session-ID is not the id of a session: take it from POST /create_session");
    }
    if (this.#open.has(id) || sessions.named.find(id) !== undefined || sessions.resumptions.has(id)) {
      throw new Refusal(400, "Session already exists");
    }
    let setReady = (): void => {};
    const ready = new Promise<void>((resolve) => {
      setReady = resolve;
    });
    const entry: OrsSession = { id, session: undefined, ready, isReady: false, prompt: [], failure: undefined };
    this.#open.set(id, entry);
    this.#ended.delete(id);
    const leave = (): void => sessions.leave(response);
    response.once("close", leave);
    try {
      const orchestrator = authorization.isOrchestrator(request.headers);
      const session = await sessions.open(response, { client: "http", orchestrator, id });
      if (this.#open.get(id) !== entry) return sessions.end(session, "deleted by its client");
      entry.session = session;
      sessions.named.add(session);
      session.join({ connected: false, silent: false, end: () => session.ended && this.#forget(entry) });
      void this.#begin(entry, session, { reset, orchestrator }).then(setReady);
    } catch (error) {
      if (this.#open.get(id) === entry) this.#open.delete(id);
      setReady();
      throw error;
    } finally {
      response.removeListener("close", leave);
    }
  }

  /** Ends a session; of one that is unknown or has ended nothing is left to do. @throws Refusal (403) */
  delete({ request }: RequestContext, id: string): void {
    const { authorization, sessions } = this.#host.context;
    const entry = this.#open.get(id);
    if (entry === undefined) return;
    const { session } = entry;
    if (session?.ownedByOrchestrator && !authorization.isOrchestrator(request.headers)) {
      throw new Refusal(
        403,
        "The session belongs to the orchestrator: send OPENENV_ORCHESTRATOR_TOKEN as bearer token",
      );
    }
    this.#forget(entry);
    if (session !== undefined) sessions.release(session, "deleted by its client");
  }

  async #begin(entry: OrsSession, session: Session, { reset, orchestrator }: Beginning): Promise<void> {
    const reply = await session.call({ type: "reset", data: reset }, { orchestrator });
    if (reply.type === "observation") {
      const { description } = session.runtime.definition.contract;
      const about: ContentBlock[] = description === "" ? [] : [{ type: "text", text: description }];
      entry.prompt = [...about, ...this.#host.parts.renderContent(reply.data.observation)];
    } else entry.failure = reply.data as ErrorData;
    entry.isReady = true;
  }

  #forget(entry: OrsSession): void {
    if (this.#open.get(entry.id) !== entry) return;
    this.#open.delete(entry.id);
    this.#ended.add(entry.id);
    const [first] = this.#ended;
    if (this.#ended.size > MAX_ENDED && first !== undefined) this.#ended.delete(first);
  }
}

interface Beginning {
  reset: JsonObject;
  orchestrator: boolean;
}

async function within(promise: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
