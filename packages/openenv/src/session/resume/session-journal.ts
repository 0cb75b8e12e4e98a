import { setTimeout as sleep } from "node:timers/promises";
import type { BinaryCodec } from "../../protocol/codec/binary.js";
import { stringifyJson } from "../../protocol/codec/json.js";
import { isThenable } from "../../util/async/thenable.js";
import { describeError } from "../failure.js";
import { IsolatedEnvironment } from "../isolation/isolated-environment.js";
import {
  type Journal,
  type JournalChanges,
  JournalError,
  type JournalRecord,
  type MaybePromise,
} from "../journals/journal.js";
import { describeSession, takeImage } from "../restore/image.js";
import type { SessionEvent, SessionImage } from "../restore/session-event.js";
import type { Session } from "../session.js";
import { SessionKilledError } from "../session-killed.js";
import {
  ANSWER,
  CLEAN,
  EVENT,
  EVENT_NAME,
  encodeImage,
  IMAGE,
  type JournalledAnswer,
  LOST,
  OPEN,
  RUNNING,
  readAnswers,
  readRunning,
  STEPS,
} from "./journal-cells.js";
import { digestRequest, requestIdOf } from "./request-digest.js";

/** What the journal of a session is made with. */
export interface JournalParts {
  journal: Journal;
  codec: BinaryCodec;
  /** Of a session by address. Its requests have no numbers: each event is committed with its answer. */
  isAddress: boolean;
  /** Called when another process has taken the session over: its instance here must be closed. */
  onLost(): void;
}

/** How long to wait before an append is repeated: the first time, and at most. */
const RETRY_MS = 50;
const MAX_RETRY_MS = 2_000;
/**
 * The journal of one resumable session: one commit for each request, with its answer and the state after it. The answer
 * is not sent before. While the journal cannot be written, the answer is held and the commit repeated.
 */
export class SessionJournal {
  /** Changes with every process that restores the session. */
  readonly epoch: number;
  readonly #id: string;
  readonly #parts: JournalParts;
  #put = new Map<string, Uint8Array>();
  #remove = new Set<string>();
  /** The events of the episode and the answers without `ack` that are stored. */
  readonly #events = new Map<string, string[]>();
  readonly #answers: { seq: number; cell: string }[] = [];
  /** The cell that names the first request is stored. */
  #isMarked = false;
  /** True while a request of the client runs: its events are committed with its answer. */
  #inRequest = false;
  /** The thread or process of the environment has ended: the session is restored from what was committed before. */
  #isKilled = false;
  #isFirst = false;
  /** The request in which the process ended that had restored the session before. */
  #crashed: string | undefined;
  /** The commit that is being repeated: the next one must not overtake it. */
  #writing: Promise<void> | undefined;
  #closed = false;
  /** Why the session cannot be restored; of a batch, by the prefix of the session. */
  readonly #lost = new Map<string, string>();
  /** The states of copies in a batch that are being taken, for the commit of the answer that names them. */
  #copying: Promise<void>[] = [];

  constructor(id: string, epoch: number, parts: JournalParts) {
    this.#id = id;
    this.epoch = epoch;
    this.#parts = parts;
  }

  /** Continues with what a process before this one has stored. */
  static restored(record: JournalRecord, parts: JournalParts): SessionJournal {
    const own = new SessionJournal(record.id, record.epoch, parts);
    own.#isFirst = !record.cells.has(CLEAN);
    own.#remove.add(CLEAN);
    own.#crashed = readRunning(record);
    for (const name of record.cells.keys()) {
      const [, prefix, event] = EVENT_NAME.exec(name) ?? [];
      if (event !== undefined && prefix !== undefined) own.#eventsOf(prefix).push(name);
    }
    own.#isMarked = record.cells.has(RUNNING);
    own.#answers.push(...readAnswers(record, parts.codec));
    return own;
  }

  get isRestorable(): boolean {
    return this.#lost.size === 0 && !this.#closed;
  }

  /** Nothing that was executed waits to be stored. */
  get isSettled(): boolean {
    return !this.#inRequest && this.#writing === undefined;
  }

  /** Stores the state of a session that is a copy, and has not been called yet. */
  async copied(session: Session): Promise<void> {
    await this.#copy(session, "");
    await this.#commit();
  }

  /** Stores how a session by address is opened again; `lost`: why the one before it was lost, until its next reset. */
  opening({ id, client, ownedByOrchestrator, start }: Session, lost: string | undefined): MaybePromise<void> {
    this.#put.set(OPEN, Buffer.from(JSON.stringify({ id, client, orchestrator: ownedByOrchestrator, start })));
    if (lost !== undefined) this.#lose(lost, "");
    return this.#commit();
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
      for (const event of "events" in restore ? restore.events : []) this.#putEvent(event, prefix);
      const stored: SessionImage = "events" in restore ? { ...image, restore: { events: [] } } : image;
      this.#put.set(prefix + IMAGE, encodeImage(stored, this.#parts.codec));
    } catch (error) {
      this.#lose(describeError(error, session.runtime.mode), prefix);
    }
  }

  /**
   * Called after each event, before its answer leaves the session and before the next request. `requestId`: of an HTTP
   * request.
   */
  record(event: SessionEvent, session: Session, prefix = "", requestId?: string): MaybePromise<void> {
    const { environment } = session;
    const isKilled = environment instanceof IsolatedEnvironment && environment.isKilled;
    // Of a batch only this session is lost.
    if (prefix === "" && this.isRestorable) this.#isKilled ||= isKilled;
    if (isKilled || this.#closed) return undefined;
    const noted = this.#note(event, session, prefix);
    if (this.#parts.isAddress) this.#keepAnswer(event, requestId);
    const commit = (): MaybePromise<void> => (this.#inRequest ? undefined : this.#commit());
    return isThenable(noted) ? Promise.resolve(noted).then(commit) : commit();
  }

  /** Stores that the tool calls of agents are steps. */
  chooseSteps(): MaybePromise<void> {
    if (this.#closed) return undefined;
    this.#put.set(STEPS, new Uint8Array(1));
    return this.#inRequest ? undefined : this.#commit();
  }

  /**
   * Called before a request is executed. True when it must not be executed again, because two processes have ended while
   * they executed it.
   */
  begin(seq: number): MaybePromise<boolean> {
    if (this.#closed) return false;
    this.#inRequest = true;
    return this.#mark(String(seq));
  }

  /** Like {@link begin}, for a request of a session by address, which its digest names. */
  enter(request: { type?: unknown; data?: unknown }): MaybePromise<boolean> {
    if (this.#closed) return false;
    return this.#isFirst ? this.#mark(digestRequest(request)) : false;
  }

  #mark(request: string): MaybePromise<boolean> {
    const isCrashed = this.#crashed === request;
    this.#crashed = undefined;
    if (isCrashed) return true;
    if (!this.#isFirst) return false;
    this.#isFirst = false;
    this.#put.set(RUNNING, Buffer.from(request));
    this.#isMarked = true;
    const committed = this.#commit();
    const run = (): boolean => false;
    // Where it fails the session has ended, and refuses the request.
    return isThenable(committed) ? Promise.resolve(committed).then(run, run) : false;
  }

  /** Commits the answer of a request with the state after it; the answer may be sent when this returns or resolves. */
  store(answered: JournalledAnswer, ack: number): MaybePromise<void> {
    if (this.#copying.length === 0) return this.#store(answered, ack);
    return Promise.all(this.#copying.splice(0)).then(() => this.#store(answered, ack));
  }

  #store({ seq, request, answer }: JournalledAnswer, ack: number): MaybePromise<void> {
    this.#inRequest = false;
    // The client repeats the request on its next connection.
    if (this.#isKilled) return new Promise(() => {});
    // Nothing of it would be read again.
    if (this.#closed) return undefined;
    if (this.#lost.size > 0 && this.#put.size === 0) return undefined;
    const first = this.#answers.findIndex((stored) => stored.seq > ack);
    const freed = this.#answers.splice(0, first < 0 ? this.#answers.length : first);
    this.#putAnswer(seq, [request, answer], freed);
    this.#unmark();
    return this.#commit();
  }

  /** A session of a batch has opened; it is committed with the next answer. */
  opened(prefix: string, session: Session): void {
    this.#put.set(prefix + OPEN, Buffer.from(session.id));
  }

  /** A session of a batch has ended. */
  ended(prefix: string): void {
    this.#dropEvents(prefix);
    this.#lost.delete(prefix);
    for (const name of [OPEN, IMAGE, LOST]) this.#drop(prefix + name);
  }

  /** Ends the session in the journal. */
  end(reason: string): void {
    this.#finish((journal) => journal.end(this.#id, this.epoch, reason));
  }

  /** Leaves the session to another process; `isBusy`: in the middle of a call. */
  release(isBusy: boolean): void {
    const changes: JournalChanges = { put: [[CLEAN, new Uint8Array(1)]], remove: [RUNNING] };
    const isClean = !this.#inRequest && !isBusy && !this.#isKilled;
    this.#finish(async (journal) => {
      // Both at once, because the journal may be closing.
      const cleaned = isClean ? journal.commit(this.#id, this.epoch, changes) : undefined;
      await Promise.all([cleaned, journal.release(this.#id, this.epoch)]);
    });
  }

  /** Adds to the next commit how the session is restored after this event. */
  #note(event: SessionEvent, session: Session, prefix: string): MaybePromise<void> {
    const { tier } = session.events;
    const { codec } = this.#parts;
    if (tier.tier === "none") {
      // A seeded environment can be restored again from its next reset on. Any other holds no slot after a restart.
      // An address is free again when its client ends the session: the journal has to keep it until then.
      const isKept = session.runtime.definition.seeded === true || this.#parts.isAddress;
      return isKept ? this.#lose(tier.reason, prefix) : this.end(tier.reason);
    }
    const keep = (image: SessionImage): void => {
      this.#put.set(prefix + IMAGE, encodeImage(image, codec));
      this.#put.delete(prefix + LOST);
      if (this.#lost.delete(prefix)) this.#remove.add(prefix + LOST);
    };
    const fail = (error: unknown): void => {
      if (error instanceof SessionKilledError) this.#isKilled ||= prefix === "";
      else this.#lose(describeError(error, session.runtime.mode), prefix);
    };
    try {
      if (tier.tier === "replay") {
        const { type, answer } = event;
        if (type === "reset" && "type" in answer && answer.type === "observation") this.#dropEvents(prefix);
        this.#putEvent(event, prefix);
        const described = describeSession(session, { events: [] });
        return isThenable(described) ? Promise.resolve(described).then(keep).catch(fail) : keep(described);
      }
      const image = takeImage(session);
      return isThenable(image) ? Promise.resolve(image).then(keep).catch(fail) : keep(image);
    } catch (error) {
      return fail(error);
    }
  }

  #putEvent(event: SessionEvent, prefix: string): void {
    const name = prefix + EVENT + event.event;
    this.#put.set(name, Buffer.from(stringifyJson(event)));
    this.#eventsOf(prefix).push(name);
  }

  /** Keeps the answer of a step that has an id until the next step or reset. */
  #keepAnswer({ event, type, request, answer }: SessionEvent, requestId: string | undefined): void {
    // Nothing of it would be read again.
    if (this.#lost.size > 0 && this.#put.size === 0) return;
    this.#unmark();
    if (type === "tool") return;
    const freed = this.#answers.splice(0);
    const id = requestIdOf(request) ?? requestId;
    const isKept = type === "step" && typeof id === "string" && this.#lost.size === 0;
    if (isKept) this.#putAnswer(event, [digestRequest({ type, data: request }), stringifyJson(answer), id], freed);
    else for (const { cell } of freed) this.#drop(cell);
  }

  /** Writes over an answer that is not needed any more: that costs less than to remove it and to add another cell. */
  #putAnswer(seq: number, parts: unknown[], freed: { cell: string }[]): void {
    const cell = freed.pop()?.cell ?? ANSWER + seq;
    for (const other of freed) this.#drop(other.cell);
    this.#put.set(cell, this.#parts.codec.encode([seq, ...parts]));
    this.#answers.push({ seq, cell });
  }

  #unmark(): void {
    if (this.#isMarked) this.#remove.add(RUNNING);
    this.#isMarked = false;
  }

  #eventsOf(prefix: string): string[] {
    const events = this.#events.get(prefix) ?? [];
    this.#events.set(prefix, events);
    return events;
  }

  #dropEvents(prefix: string): void {
    for (const name of this.#eventsOf(prefix)) this.#drop(name);
    this.#events.delete(prefix);
  }

  #drop(name: string): void {
    this.#put.delete(name);
    this.#remove.add(name);
  }

  #lose(reason: string, prefix: string): void {
    if (this.#lost.get(prefix) === reason) return;
    this.#lost.set(prefix, reason);
    this.#dropEvents(prefix);
    this.#drop(prefix + IMAGE);
    this.#remove.delete(prefix + LOST);
    this.#put.set(prefix + LOST, Buffer.from(reason));
  }

  #commit(): MaybePromise<void> {
    if (this.#put.size === 0 && this.#remove.size === 0) return undefined;
    const changes = { put: [...this.#put], remove: [...this.#remove] };
    this.#put.clear();
    this.#remove.clear();
    const write = (): MaybePromise<void> => this.#parts.journal.commit(this.#id, this.epoch, changes);
    try {
      const written = this.#writing === undefined ? write() : this.#writing.then(write);
      if (!isThenable(written)) return undefined;
      return this.#wait(Promise.resolve(written).catch((error: unknown) => this.#repeat(write, error)));
    } catch (error) {
      return this.#wait(this.#repeat(write, error));
    }
  }

  #wait(written: Promise<void>): Promise<void> {
    const done = written.then(() => {
      if (this.#writing === done) this.#writing = undefined;
    });
    this.#writing = done;
    return done;
  }

  /** Resolves when it is written; never for a session that has ended or belongs to another process. */
  async #repeat(write: () => MaybePromise<void>, first: unknown): Promise<void> {
    let error = first;
    for (let tries = 0; ; tries++) {
      if (!(error instanceof JournalError)) throw error;
      if (error.code === "EPOCH_LOST" && !this.#closed) {
        this.#closed = true;
        this.#parts.onLost();
      }
      // A client by address learns that the call may not be in its episode.
      if (this.#closed && this.#parts.isAddress) throw new Error("the session has ended here", { cause: error });
      if (this.#closed) return new Promise(() => {});
      await sleep(Math.min(RETRY_MS * 2 ** tries, MAX_RETRY_MS), undefined, { ref: false });
      try {
        return await write();
      } catch (next) {
        error = next;
      }
    }
  }

  #finish(write: (journal: Journal) => MaybePromise<void>): void {
    if (this.#closed) return;
    this.#closed = true;
    // A journal that is away now may take the session for one that can be resumed: its window ends it.
    void (async () => write(this.#parts.journal))().catch(() => {});
  }
}
