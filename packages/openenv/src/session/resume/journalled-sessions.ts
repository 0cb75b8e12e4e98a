import { createHash, timingSafeEqual } from "node:crypto";
import type { BinaryCodec } from "../../protocol/codec/binary.js";
import type { WireCode } from "../../protocol/messages.js";
import { isThenable } from "../../util/async/thenable.js";
import type { SessionOpener } from "../held-session.js";
import {
  type Journal,
  type JournalEntry,
  JournalError,
  type JournalRecord,
  type MaybePromise,
} from "../journals/journal.js";
import { areSiblings } from "../journals/owner.js";
import type { SessionsJournal } from "../registry/options.js";
import type { Sessions } from "../registry/sessions.js";
import { openFrom } from "../restore/open-from.js";
import type { SessionImage } from "../restore/session-event.js";
import { Session } from "../session.js";
import { SessionRejectedError } from "../session-rejected-error.js";
import { BATCH_OPENER, Batch } from "./batch.js";
import { type Resumption, sessionsOf } from "./resumptions.js";
import { type JournalParts, readAnswers, readBatch, readImage, readLost, SessionJournal } from "./session-journal.js";

interface JournalledOptions {
  journal: Journal;
  codec: BinaryCodec;
  /** The name of this process in the journal. */
  owner: string;
  /** How many workers share the sessions that have no process. */
  workers: number;
  /** How long the end of a session is remembered, milliseconds. */
  retentionMs: number;
}

/** The resumable sessions of one server that are kept in a journal. */
export class JournalledSessions implements SessionsJournal {
  readonly #sessions: Sessions;
  readonly #options: JournalledOptions;
  readonly #restoring = new Map<string, Promise<string | undefined>>();
  /** Sessions without a process, with the time when this server saw it, by the clock of `performance.now()`. */
  #orphans = new Map<string, number>();
  /** How many processes have sessions in the journal. */
  #owners = 1;

  constructor(sessions: Sessions, options: JournalledOptions) {
    this.#sessions = sessions;
    this.#options = options;
    options.journal.onWanted = (id) => this.#handOver(id);
  }

  get reserved(): number {
    const since = performance.now() - this.#sessions.resumptions.limits.guaranteeMs;
    let count = 0;
    for (const seen of this.#orphans.values()) if (seen > since) count++;
    return Math.ceil(count / Math.max(this.#options.workers, this.#owners));
  }

  add(resumption: Resumption): MaybePromise<void> {
    const { target, tokenHash } = resumption;
    const created = this.#options.journal.create(target.id, tokenHash);
    const begin = (): MaybePromise<void> => {
      const own = this.#attach(resumption, (parts) => new SessionJournal(target.id, 1, parts));
      return target instanceof Session && target.events.last > 0 ? own.copied(target) : undefined;
    };
    return isThenable(created) ? created.then(begin) : begin();
  }

  async siblingOf(id: string): Promise<string | undefined> {
    const { journal, owner } = this.#options;
    try {
      const entry = await journal.find(id);
      if (entry?.owner == null || entry.owner === owner || !areSiblings(entry.owner, owner)) return undefined;
      return (await journal.isHeld(entry)) ? entry.owner : undefined;
    } catch {
      return undefined;
    }
  }

  async takeOver(id: string, token: string, opener: SessionOpener): Promise<string | undefined> {
    const entry = await this.#ask(() => this.#options.journal.find(id));
    if (entry === undefined) return "the server does not know the session";
    if (!isTokenOf(entry, token)) return "the token is not that of the session";
    if (entry.ended !== null) return entry.ended.reason;
    // Connections of one client may come at once.
    if (this.#sessions.resumptions.has(id)) return undefined;
    const running = this.#restoring.get(id) ?? this.#restore(id, opener).finally(() => this.#restoring.delete(id));
    this.#restoring.set(id, running);
    return running;
  }

  releaseAll(): void {
    for (const resumption of this.#sessions.resumptions.all()) {
      if (resumption.journal?.isRestorable === true) resumption.journal.release();
    }
  }

  /** Reserves slots for sessions without a process, ends those that were not resumed in time, and forgets ended ones. */
  async tidy(windowMs: number): Promise<void> {
    const { journal, retentionMs } = this.#options;
    const held = new Map<string, MaybePromise<boolean>>();
    const orphans = new Map<string, number>();
    for (const entry of await journal.list()) {
      if (entry.ended !== null) continue;
      const owner = entry.owner ?? "";
      if (!held.has(owner)) held.set(owner, journal.isHeld(entry));
      if (!(await held.get(owner))) orphans.set(entry.id, this.#orphans.get(entry.id) ?? performance.now());
    }
    this.#owners = (await Promise.all(held.values())).filter(Boolean).length;
    for (const [id, seen] of orphans) {
      if (performance.now() - seen < windowMs) continue;
      // Its client has come meanwhile.
      if (this.#restoring.has(id) || this.#sessions.resumptions.has(id)) continue;
      orphans.delete(id);
      const record = await Promise.resolve(journal.takeOver(id)).catch(() => undefined);
      if (record !== undefined) await journal.end(id, record.epoch, "was not resumed in time");
    }
    this.#orphans = orphans;
    await journal.removeEnded(Date.now() - retentionMs);
  }

  async close(): Promise<void> {
    await this.#options.journal.close();
  }

  /** Leaves a session to the server that its client has come to: now, or when it asks again after the running step. */
  #handOver(id: string): void {
    const resumption = this.#sessions.resumptions.get(id);
    if (resumption?.journal?.isRestorable !== true || sessionsOf(resumption.target).some(({ busy }) => busy)) return;
    resumption.holder?.fence();
    this.#sessions.giveUp(resumption, "continues on another server");
  }

  async #restore(id: string, opener: SessionOpener): Promise<string | undefined> {
    const { journal, codec } = this.#options;
    const record = await this.#ask(() => journal.takeOver(id));
    if (record === undefined) return "the session has ended";
    const lost = readLost(record);
    if (lost !== undefined) {
      await journal.end(id, record.epoch, lost);
      return lost;
    }
    const batch = opener.client === "batch" ? new Batch(this.#sessions, id) : undefined;
    try {
      if (batch === undefined)
        this.#continue(await this.#open(readImage(record, codec), { ...opener, id, isRestored: true }), record);
      else {
        for (const [number, own] of readBatch(record)) {
          const image = readImage(record, codec, `${number}.`);
          batch.restore(number, await this.#open(image, { ...BATCH_OPENER, id: own, isRestored: true }));
        }
        this.#continue(batch, record);
      }
      this.#orphans.delete(id);
      return undefined;
    } catch (error) {
      batch?.end("it could not be restored");
      // A server with another version or more room may restore it.
      await journal.release(id, record.epoch);
      if (!(error instanceof SessionRejectedError) || error.data.code === "CAPACITY_REACHED") throw error;
      return error.message;
    }
  }

  #open(image: SessionImage | undefined, opener: SessionOpener): MaybePromise<Session> {
    return image === undefined ? this.#sessions.open(undefined, opener) : openFrom(this.#sessions, image, opener);
  }

  #continue(target: Session | Batch, record: JournalRecord): void {
    const { resumptions } = this.#sessions;
    const resumption = resumptions.add(target, record.tokenHash, undefined);
    for (const { seq, request, answer } of readAnswers(record, this.#options.codec)) {
      resumption.answers.restore(seq, request, answer);
    }
    this.#attach(resumption, (parts) => SessionJournal.restored(record, parts));
    this.#sessions.detachResumable(resumption);
  }

  #attach(resumption: Resumption, make: (parts: JournalParts) => SessionJournal): SessionJournal {
    const { journal, codec } = this.#options;
    const { target } = resumption;
    const onLost = (): void => this.#sessions.giveUp(resumption, "another process has taken over the session");
    const own = make({ journal, codec, onLost });
    resumption.journal = own;
    const follow = (session: Session, prefix?: string): void => {
      session.events.keepIfNeeded();
      session.events.recorder = { record: (event) => own.record(event, session, prefix) };
    };
    if (target instanceof Session) {
      follow(target);
      return own;
    }
    const batch = target as Batch;
    for (const number of batch.numbers) follow(batch.get(number) as Session, `${number}.`);
    batch.watch({
      opened: (number, session) => {
        follow(session, `${number}.`);
        if (session.events.last === 0) own.opened(`${number}.`, session);
        else own.copiedInBatch(`${number}.`, session);
      },
      ended: (number) => own.ended(`${number}.`),
    });
    return own;
  }

  /** Failures of the journal become what a client can wait for. */
  async #ask<T>(action: () => MaybePromise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof JournalError)) throw error;
      throw new SessionRejectedError({ message: error.message, code: error.code as WireCode }, { cause: error });
    }
  }
}

function isTokenOf({ tokenHash }: JournalEntry, token: string): boolean {
  return timingSafeEqual(createHash("sha256").update(token).digest(), Buffer.from(tokenHash, "hex"));
}
