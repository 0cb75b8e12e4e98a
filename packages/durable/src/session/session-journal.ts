import { isHosted } from "#core/environment/environment-host.js";
import type { BinaryCodec } from "#core/protocol/codec/binary.js";
import { stringifyJson } from "#core/protocol/codec/json.js";
import type { SessionCallOptions } from "#core/session/calls/call.js";
import type { SessionEvent, SessionImage } from "#core/session/calls/session-event.js";
import { describeError } from "#core/session/failure.js";
import { WITHHELD, type Withheld } from "#core/session/registry/session-keeper.js";
import { describeSession, takeImage } from "#core/session/restore/image.js";
import type { Session } from "#core/session/session.js";
import { SessionKilledError } from "#core/session/session-killed.js";
import { isThenable } from "#core/util/async/thenable.js";
import type { Eventual } from "#core/util/types.js";
import { JournalError, type JournalRecord } from "../journals/journal.js";
import { AnswerCells } from "./answer-cells.js";
import { EventCells } from "./event-cells.js";
import { FirstRequest, type RunningSuspect } from "./first-request.js";
import {
  type AnswerRecord,
  CLEAN,
  encodeImage,
  IMAGE,
  LOST,
  OPEN,
  RESTORING,
  RUNNING,
  STEPS,
  UNSENT,
} from "./journal-cells.js";
import { JournalWriter, type WriterParts } from "./journal-writer.js";
import { digestRequest, requestIdOf } from "./request-digest.js";
import type { ResumePolicy } from "./resume-policy.js";

type Stored = undefined | Promise<Withheld | undefined>;

/** What the journal of a session is made with. */
export interface JournalParts extends WriterParts {
  codec: BinaryCodec;
  policy: ResumePolicy;
  suspects: RunningSuspect;
}

/**
 * The journal of one resumable session: one commit for each request, with its answer and the state after it. The answer
 * is not sent before. While the journal cannot be written, the answer is held and the commit repeated.
 */
export class SessionJournal {
  readonly first: FirstRequest;
  readonly #parts: JournalParts;
  readonly #writer: JournalWriter;
  readonly #events: EventCells;
  readonly #answers: AnswerCells;
  /** True while a request of the client runs: its events are committed with its answer. */
  #inRequest = false;
  /** One of these events waits for that answer. */
  #hasEvent = false;
  /** Other answers that wait for the same commit. */
  readonly #behind: ((stored: Eventual<void>) => void)[] = [];
  /** The thread or process of the environment has ended: the session is restored from what was committed before. */
  #isKilled = false;
  #hasUnsent = false;
  /** Why the session cannot be restored; of a batch, by the prefix of the session. */
  readonly #lost = new Map<string, string>();
  /** The states of copies in a batch that are being taken, for the commit of the answer that names them. */
  #copying: Promise<void>[] = [];

  constructor(id: string, epoch: number, parts: JournalParts) {
    this.#parts = parts;
    this.#writer = new JournalWriter(id, epoch, parts);
    this.#events = new EventCells(this.#writer);
    this.#answers = new AnswerCells(this.#writer, parts.codec);
    this.first = new FirstRequest(this.#writer, parts.suspects);
  }

  /** Continues with what a process before this one has stored. */
  static restored(record: JournalRecord, parts: JournalParts): SessionJournal {
    const own = new SessionJournal(record.id, record.epoch, parts);
    for (const cell of [CLEAN, RESTORING]) own.#writer.remove(cell);
    own.first.restore(record);
    for (const name of record.cells.keys()) own.#events.know(name);
    own.#hasUnsent = record.cells.has(UNSENT);
    own.#answers.know(record);
    return own;
  }

  /** Changes with every process that restores the session. */
  get epoch(): number {
    return this.#writer.epoch;
  }

  get isRestorable(): boolean {
    return this.#lost.size === 0 && !this.#writer.isClosed;
  }

  /** Nothing that was executed waits to be stored. */
  get isSettled(): boolean {
    return !this.#inRequest && !this.#writer.isWriting;
  }

  /** A commit has not succeeded yet, and its answer waits for it. */
  get isWriting(): boolean {
    return this.#writer.isWriting;
  }

  /** Stores what has changed, such as that the restore has not ended this process; no answer waits for it. */
  survived(): void {
    const stored = this.#writer.commit();
    if (isThenable(stored)) Promise.resolve(stored).catch(() => {});
  }

  /** Stores the state of a session that is a copy, and has not been called yet. */
  async copied(session: Session): Promise<void> {
    await this.#copy(session, "");
    await this.#writer.commit();
  }

  /** Stores how a session by address is opened again; `lost`: why the one before it was lost, until its next reset. */
  opening({ id, client, ownedByOrchestrator, start }: Session, lost: string | undefined): Eventual<void> {
    this.#writer.put(OPEN, Buffer.from(JSON.stringify({ id, client, orchestrator: ownedByOrchestrator, start })));
    if (lost !== undefined) this.#lose(lost, "");
    return this.#writer.commit();
  }

  /** A copy has opened in a batch; it is committed with the next answer. */
  copiedInBatch(prefix: string, session: Session): void {
    this.opened(prefix, session);
    this.#copying.push(this.#copy(session, prefix));
  }

  async #copy(session: Session, prefix: string): Promise<void> {
    try {
      const image = await takeImage(session);
      const { restore } = image;
      for (const event of "events" in restore ? restore.events : []) this.#events.put(event, prefix);
      const stored: SessionImage = "events" in restore ? { ...image, restore: { events: [] } } : image;
      this.#writer.put(prefix + IMAGE, encodeImage(stored, this.#parts.codec));
    } catch (error) {
      this.#lose(describeError(error, session.runtime.mode), prefix);
    }
  }

  /**
   * Called after each event, before its answer leaves the session and before the next request. `options`: of its call;
   * `prefix`: of a session in a batch.
   */
  record(event: SessionEvent, session: Session, options: SessionCallOptions, prefix = ""): Eventual<void> {
    const { environment } = session;
    const isKilled = isHosted(environment) && environment.lost !== undefined;
    // Only this session of a batch is lost.
    if (prefix === "" && this.isRestorable) this.#isKilled ||= isKilled;
    // With a history the environment has ended after the event, while its state was kept.
    if (this.#isKilled && isKilled && !hasFailed(event.answer)) throw killed();
    if (isKilled || this.#writer.isClosed) return undefined;
    const noted = this.#note(event, session, prefix);
    // `#note` has ended the session in the journal.
    if (this.#writer.isClosed) return undefined;
    if (!this.#parts.policy.isNumbered) this.#keepAnswer(event, options.requestId);
    else if (!this.#inRequest) this.first.unmark();
    const isOwn = options.numbered === true && this.#inRequest;
    if (isOwn) this.#hasEvent = true;
    const commit = (): Eventual<void> => (isOwn ? undefined : this.#commitOther());
    return isThenable(noted) ? Promise.resolve(noted).then(commit) : commit();
  }

  /** Stores that the tool calls of agents are steps. */
  chooseSteps(): Eventual<void> {
    if (this.#writer.isClosed) return undefined;
    this.#writer.put(STEPS, new Uint8Array(1));
    return this.#commitOther();
  }

  /** Called before a request with a number is executed, as {@link FirstRequest.enter}. */
  begin(seq: number): Eventual<boolean> {
    this.#inRequest = true;
    return this.first.enter(() => String(seq));
  }

  /** Commits the answer of a request with the state after it; when that is done, it is sent unless it is withheld. */
  store(answered: AnswerRecord, ack: number): Stored {
    if (this.#copying.length === 0) return this.#store(answered, ack);
    return Promise.all(this.#copying.splice(0)).then(() => this.#store(answered, ack));
  }

  #store(answered: AnswerRecord, ack: number): Stored {
    this.#inRequest = this.#hasEvent = false;
    const stored = this.#isKilled ? Promise.reject(killed()) : this.#commitAnswer(answered, ack);
    if (this.#behind.length > 0) for (const leave of this.#behind.splice(0)) leave(stored);
    if (!isThenable(stored)) return undefined;
    // A numbered request gets no error when it is not stored here: its client repeats it on the next connection.
    const withhold = (error: unknown): Withheld => {
      if (this.#isKilled || error instanceof JournalError) return WITHHELD;
      throw error;
    };
    return Promise.resolve(stored).then(() => undefined, withhold);
  }

  #commitAnswer({ seq, request, answer }: AnswerRecord, ack: number): Eventual<void> {
    // Nothing of it would be read again.
    if (this.#writer.isClosed) return undefined;
    if (this.#lost.size > 0 && !this.#writer.hasNew) return undefined;
    this.#answers.put(seq, [request, answer], this.#answers.free(ack));
    this.first.unmark();
    return this.#writer.commit();
  }

  /** A session of a batch has opened; it is committed with the next answer. */
  opened(prefix: string, session: Session): void {
    this.#writer.put(prefix + OPEN, Buffer.from(session.id));
  }

  /** A session of a batch has ended. */
  ended(prefix: string): void {
    this.#events.drop(prefix);
    this.#lost.delete(prefix);
    for (const name of [OPEN, IMAGE, LOST]) this.#writer.remove(prefix + name);
  }

  /** Stores the answer that could not be sent; nothing waits for it. */
  keepUnsent(digest: string, answer: string): void {
    this.#hasUnsent = true;
    this.#writer.put(UNSENT, Buffer.from(JSON.stringify([digest, answer])));
    this.survived();
  }

  /** Forgets it, because it was sent, or another request has come. */
  dropUnsent(): void {
    if (!this.#hasUnsent) return;
    this.#hasUnsent = false;
    this.#writer.remove(UNSENT);
    this.survived();
  }

  /** Ends the session in the journal. An empty reason frees an address. */
  end(reason: string): void {
    const [lost] = reason === "" ? [] : this.#lost.values();
    this.#writer.end(lost === undefined ? reason : `${reason}, and it cannot be restored: ${lost}`);
  }

  /** Leaves the session to another process; `isBusy`: in the middle of a call. */
  release(isBusy: boolean): void {
    const isClean = !this.#inRequest && !isBusy && !this.#isKilled;
    this.#writer.release(isClean ? { put: [[CLEAN, new Uint8Array(1)]], remove: [RUNNING] } : undefined);
  }

  /** Adds to the next commit how the session is restored after this event. */
  #note(event: SessionEvent, session: Session, prefix: string): Eventual<void> {
    const { tier } = session.events;
    const { codec } = this.#parts;
    if (tier.tier === "none") {
      // A seeded environment can be restored again from its next reset on. Any other holds no slot after a restart.
      const isKept = session.runtime.definition.seeded === true || this.#parts.policy.isReopened;
      return isKept ? this.#lose(tier.reason, prefix) : this.end(tier.reason);
    }
    const keep = (image: SessionImage): void => {
      this.#writer.put(prefix + IMAGE, encodeImage(image, codec));
      if (this.#lost.delete(prefix)) this.#writer.remove(prefix + LOST);
    };
    const fail = (error: unknown): void => {
      if (error instanceof SessionKilledError) this.#isKilled ||= prefix === "";
      else this.#lose(describeError(error, session.runtime.mode), prefix);
    };
    try {
      if (tier.tier === "replay") {
        const { type, answer } = event;
        if (type === "reset" && "type" in answer && answer.type === "observation") this.#events.drop(prefix);
        this.#events.put(event, prefix);
        const described = describeSession(session, { events: [] });
        return isThenable(described) ? Promise.resolve(described).then(keep).catch(fail) : keep(described);
      }
      const image = takeImage(session);
      return isThenable(image) ? Promise.resolve(image).then(keep).catch(fail) : keep(image);
    } catch (error) {
      return fail(error);
    }
  }

  /** Keeps the answer of a step that has an id until the next step or reset. */
  #keepAnswer({ event, type, request, answer }: SessionEvent, requestId: string | undefined): void {
    // Nothing of it would be read again.
    if (this.#lost.size > 0 && !this.#writer.hasNew) return;
    this.first.unmark();
    if (type === "tool") return;
    const freed = this.#answers.free(Number.POSITIVE_INFINITY);
    const id = requestIdOf(request) ?? requestId;
    const isKept = type === "step" && typeof id === "string" && this.#lost.size === 0;
    if (isKept) this.#answers.put(event, [digestRequest({ type, data: request }), stringifyJson(answer), id], freed);
    else this.#answers.remove(freed);
  }

  #lose(reason: string, prefix: string): void {
    if (this.#lost.get(prefix) === reason) return;
    this.#lost.set(prefix, reason);
    this.#events.drop(prefix);
    this.#writer.remove(prefix + IMAGE);
    this.#writer.put(prefix + LOST, Buffer.from(reason));
  }

  /**
   * Commits what does not belong to a numbered request. While the event of such a request waits for its answer, this
   * waits for the same commit, because the event must not be stored without the answer.
   */
  #commitOther(): Eventual<void> {
    if (this.#isKilled) throw killed();
    if (!this.#hasEvent) return this.#writer.commit();
    return new Promise((resolve) => this.#behind.push(resolve));
  }
}

function hasFailed(answer: SessionEvent["answer"]): boolean {
  return "type" in answer ? answer.type === "error" : answer.error !== null;
}

function killed(): Error {
  return new Error("the thread or process of the environment has ended");
}
