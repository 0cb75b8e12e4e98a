import type { BatchReply } from "../protocol/batch.js";
import type { ForkRequest } from "../protocol/http.js";
import { isThenable } from "../util/async/thenable.js";
import type { SessionOpener } from "./attachable-session.js";
import { forkSession } from "./copies/fork.js";
import type { Waiter } from "./registry/session-queue.js";
import type { Sessions } from "./registry/sessions.js";
import type { Session } from "./session.js";
import { SessionRejectedError } from "./session-rejected-error.js";

/** These sessions have no public id: no other client can end them. */
export const BATCH_OPENER: SessionOpener = { client: "batch", orchestrator: false };

/** Ended sessions of one batch whose reason is kept. */
const MAX_REASONS = 1000;

/** Is notified of the sessions of a batch. */
export interface BatchWatcher {
  opened(number: number, session: Session): void;
  ended(number: number): void;
}

/** The sessions of one socket with the extension `batch`: each has a slot, and all end together. */
export class Batch {
  readonly #sessions: Sessions;
  readonly #open = new Map<number, Session>();
  /** The opens that wait for a session. */
  readonly #waiting = new Set<Waiter>();
  /** Why sessions have ended, for requests that still name them. */
  readonly #reasons = new Map<number, string>();
  readonly #opener: SessionOpener;
  #id: string | undefined;
  #ownId: string | undefined;
  #watcher: BatchWatcher | undefined;
  #isDetached = false;
  #next = 0;
  #ended = false;

  /** `id`: of a batch that another process had before. */
  constructor(sessions: Sessions, id?: string, { principal, traceparent }: Partial<SessionOpener> = {}) {
    this.#sessions = sessions;
    this.#opener = { ...BATCH_OPENER, principal, traceparent };
    this.#id = id;
  }

  /** The id by which a client resumes all of them. */
  get id(): string {
    return (this.#id ??= this.#sessions.makeId());
  }

  get key(): string {
    return this.id;
  }

  /** Its id, or another one where no client can resume it. */
  get ownId(): string {
    return (this.#ownId ??= this.#id ?? this.#sessions.makeId());
  }

  /** Those that are open. */
  get sessions(): Iterable<Session> {
    return this.#open.values();
  }

  watch(watcher: BatchWatcher): void {
    this.#watcher = watcher;
  }

  /** Adds a session that another process had under this number. */
  restore(number: number, session: Session): void {
    this.#add(number, session);
    this.#next = Math.max(this.#next, number + 1);
  }

  get numbers(): Iterable<number> {
    return this.#open.keys();
  }

  get(number: number): Session | undefined {
    const session = this.#open.get(number);
    return session?.ended ? undefined : session;
  }

  /** Why the session is not open; undefined if that is not known. */
  reasonFor(number: number): string | undefined {
    return this.#reasons.get(number);
  }

  /** A connection serves the sessions from now on. */
  attach(): void {
    this.#isDetached = false;
    for (const [number, session] of this.#open) {
      if (session.ended) this.#remove(number);
      else this.#attach(number, session);
    }
  }

  /** Opens one session, or returns why it was rejected. Never throws or rejects. */
  open(): BatchReply | Promise<BatchReply> {
    const applicant: Waiter = {};
    const refused = (refusal: SessionRejectedError): BatchReply => {
      this.#waiting.delete(applicant);
      return { type: "error", data: refusal.data };
    };
    try {
      const opened = this.#sessions.open(applicant, this.#opener);
      if (!isThenable(opened)) return this.#opened(opened);
      this.#waiting.add(applicant);
      return opened.then((session) => {
        this.#waiting.delete(applicant);
        return this.#opened(session);
      }, refused);
    } catch (refusal) {
      return refused(refusal as SessionRejectedError);
    }
  }

  /** Copies one of the sessions, or returns why there are no copies. */
  async fork(session: Session, request: ForkRequest): Promise<BatchReply> {
    try {
      const { event, forks } = await forkSession(this.#sessions, session, request);
      return { type: "forked", data: { event, sessions: forks.map((copy) => this.#adopt(copy)) } };
    } catch (error) {
      if (error instanceof SessionRejectedError) return { type: "error", data: error.data };
      throw error;
    }
  }

  detach(): void {
    this.#isDetached = true;
  }

  close(number: number): void {
    const session = this.#open.get(number);
    if (session !== undefined) this.#sessions.end(session, "closed by the client");
  }

  /** Frees all slots at once, also those of sessions in the middle of a step. */
  end(reason: string): void {
    this.#ended = true;
    if (this.#id !== undefined) this.#sessions.keeper?.endedBatch(this.#id, reason);
    for (const applicant of this.#waiting) this.#sessions.leave(applicant);
    this.#waiting.clear();
    for (const session of [...this.#open.values()]) this.#sessions.end(session, reason);
  }

  #opened(session: Session): BatchReply {
    if (this.#id !== undefined) session.events.keepIfNeeded();
    return { type: "opened", data: { session: this.#adopt(session) } };
  }

  #adopt(session: Session): number {
    const number = this.#next++;
    this.#add(number, session);
    this.#watcher?.opened(number, session);
    if (this.#isDetached) this.#sessions.keepDetached(session);
    else this.#attach(number, session);
    if (this.#ended) this.#sessions.end(session, "disconnected");
    return number;
  }

  #add(number: number, session: Session): void {
    session.member = number;
    session.batchId = this.ownId;
    this.#open.set(number, session);
  }

  #attach(number: number, session: Session): void {
    session.attach({
      sessionEnded: (reason) => this.#remove(number, reason),
      isGroupResumable: () => this.#id !== undefined && this.#sessions.keeper?.has(this.#id) === true,
    });
  }

  #remove(number: number, reason?: string): void {
    if (reason !== undefined) this.#reasons.set(number, reason);
    const [first] = this.#reasons.keys();
    if (this.#reasons.size > MAX_REASONS && first !== undefined) this.#reasons.delete(first);
    this.#open.delete(number);
    this.#watcher?.ended(number);
  }
}
