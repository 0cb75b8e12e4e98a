import { setTimeout as sleep } from "node:timers/promises";
import type { BinaryCodec } from "#core/protocol/codec/binary.js";
import { areSiblings } from "#core/server/sqlite/owner.js";
import type { SessionOpener } from "#core/session/attachable-session.js";
import { BATCH_OPENER, Batch } from "#core/session/batch.js";
import { toError } from "#core/session/failure.js";
import { Session } from "#core/session/session.js";
import { SessionRejectedError } from "#core/session/session-rejected-error.js";
import type { Statistics } from "#core/session/statistics/statistics.js";
import { isThenable } from "#core/util/async/thenable.js";
import type { Log } from "#core/util/log.js";
import type { Eventual } from "#core/util/types.js";
import { type Journal, type JournalRecord, TAKEN_OVER } from "../journals/journal.js";
import { type DurableSession, isTokenOf } from "../session/durable-session.js";
import type { DurableSessions } from "../session/durable-sessions.js";
import {
  putRestores,
  readAnswers,
  readBatch,
  readImage,
  readLost,
  readRestores,
  readUnsent,
} from "../session/journal-cells.js";
import { policyOf } from "../session/resume-policy.js";
import { SessionJournal } from "../session/session-journal.js";
import type { SessionStore } from "../session/session-store.js";
import { askJournal } from "./ask-journal.js";
import { openImage, openStored, type StoringParts, storeIn } from "./storing.js";
import { Suspects } from "./suspects.js";

/** The wait for the server that has the session of an address: the first time, and at most. */
const MIN_WAIT_MS = 50;
const MAX_WAIT_MS = 800;
/** A session is lost when so many processes in a row have ended while they restored it. */
const MAX_RESTORES = 5;
/** The time in which a takeover that seemed to fail may still apply: this process is then the owner without the session. */
const LATE_MS = 60_000;

interface StoreOptions {
  journal: Journal;
  codec: BinaryCodec;
  /** The name of this process in the journal. */
  owner: string;
  /** The number of workers that share the sessions that have no process. */
  workers: number;
  /** What this process can restore. */
  version: string;
  /** Milliseconds that the end of a session is remembered. */
  retentionMs: number;
  statistics: Statistics;
  log: Log;
}

/** The resumable sessions and those by address of one server, which are kept in a journal. */
export class StoredSessions implements SessionStore {
  readonly #durable: DurableSessions;
  readonly #parts: StoringParts;
  readonly #options: StoreOptions;
  readonly #restoring = new Map<string, Promise<string | undefined>>();
  /** The sessions that this server has had or tried to take over, by their keys, and since when. */
  readonly #had = new Map<string, number>();
  readonly #suspects: Suspects;
  /** The restores that are running, with the number of those before. */
  readonly #tries = new Map<JournalRecord, number>();
  #tidying: Promise<void> | undefined;
  /** Sessions without a process, with the time when this server saw it, by the clock of `performance.now()`. */
  #orphans = new Map<string, number>();
  /** The number of processes that have sessions in the journal. */
  #owners = 1;

  constructor(durable: DurableSessions, options: StoreOptions) {
    this.#durable = durable;
    this.#suspects = new Suspects(() => durable.all());
    this.#parts = { durable, journal: options.journal, codec: options.codec, suspects: this.#suspects };
    this.#options = options;
    options.journal.onWanted = (id) => void this.#handOver(id);
  }

  get reserved(): number {
    const since = performance.now() - this.#durable.limits.guaranteeMs;
    let count = 0;
    for (const seen of this.#orphans.values()) if (seen > since) count++;
    return Math.ceil(count / Math.max(this.#options.workers, this.#owners)) + this.#suspects.waiting;
  }

  add(durableSession: DurableSession, lost?: string): Promise<void> {
    return this.#ask(() => this.#add(durableSession, lost));
  }

  #add(durableSession: DurableSession, lost: string | undefined): Eventual<void> {
    const { key, target, tokenHash, policy } = durableSession;
    this.#had.set(key, performance.now());
    const created = this.#options.journal.create(key, tokenHash);
    const begin = (epoch: number): Eventual<void> => {
      const own = storeIn(this.#parts, durableSession, (parts) => new SessionJournal(key, epoch, parts));
      if (policy.isReopened) return own.opening(target as Session, lost);
      return target instanceof Session && target.events.last > 0 ? own.copied(target) : undefined;
    };
    return isThenable(created) ? created.then(begin) : begin(created);
  }

  async holderOf(id: string): Promise<{ sibling?: string } | undefined> {
    const { journal, owner } = this.#options;
    try {
      const entry = await journal.find(id);
      if (entry === undefined) return undefined;
      const isOther = entry.owner !== null && entry.owner !== owner && areSiblings(entry.owner, owner);
      return isOther && (await journal.isHeld(entry)) ? { sibling: entry.owner } : {};
    } catch {
      return {};
    }
  }

  async takeOver(id: string, token: string, opener: SessionOpener): Promise<string | undefined> {
    const entry = await this.#ask(() => this.#options.journal.find(id));
    if (entry === undefined || !policyOf(entry).isNumbered) return "the server does not know the session";
    // Nothing is known of a session whose entry is damaged.
    if (entry.tokenHash !== "" && !isTokenOf(entry, token)) return "the token is not that of the session";
    if (entry.ended !== null) return entry.ended.reason;
    // Connections of one client may come at once.
    if (this.#durable.find(id) !== undefined) return undefined;
    return this.#ask(() => this.#restoreOnce(id, opener));
  }

  async restore(address: string, opener: SessionOpener): Promise<void> {
    const durable = this.#durable;
    for (let waitMs = MIN_WAIT_MS; durable.find(address) === undefined; ) {
      const entry = await this.#ask(() => this.#options.journal.find(address));
      if (entry === undefined) return;
      if (entry.ended !== null) return durable.lose(address, entry.ended.reason);
      try {
        await this.#ask(() => this.#restoreOnce(address, opener));
      } catch (error) {
        const isElsewhere = (error as SessionRejectedError).data.code === "SESSION_ELSEWHERE";
        if (!isElsewhere || waitMs > MAX_WAIT_MS) throw error;
        // Its owner has been notified, and releases it when it can.
        await sleep(waitMs);
        waitMs *= 2;
      }
    }
  }

  #restoreOnce(key: string, opener: SessionOpener): Promise<string | undefined> {
    const running = this.#restoring.get(key) ?? this.#countRestore(key, opener);
    this.#restoring.set(key, running);
    return running;
  }

  async findTakers(isDraining: boolean): Promise<void> {
    const { journal, owner, version, log } = this.#options;
    if (journal.takers === undefined) return;
    const durable = this.#durable;
    try {
      const takers = await journal.takers();
      // The workers of one server drain together.
      const others = takers.filter((taker) => !isDraining || !areSiblings(taker.owner, owner));
      // A client reaches any of them.
      durable.areTaken = others.length > 0 && others.every((taker) => taker.version === version);
    } catch (error) {
      log.warn({ err: toError(error) }, "the journal could not be read");
      durable.areTaken = false;
    }
  }

  async #countRestore(key: string, opener: SessionOpener): Promise<string | undefined> {
    const { openenv_journal_restores_total: restores } = this.#options.statistics.counts;
    try {
      const lost = await this.#restore(key, opener);
      restores[lost === undefined ? "restored" : "lost"]++;
      return lost;
    } catch (error) {
      const isElsewhere = error instanceof SessionRejectedError && error.data.code === "SESSION_ELSEWHERE";
      restores[isElsewhere ? "elsewhere" : "unavailable"]++;
      throw error;
    } finally {
      this.#restoring.delete(key);
    }
  }

  releaseAll(): void {
    const durable = this.#durable;
    for (const durableSession of durable.all()) {
      if (durableSession.isRestorable) durableSession.release();
    }
    // This process ends in order, and not because of them.
    for (const [record, before] of this.#tries) void this.#leave(record, before).catch(() => {});
  }

  /**
   * Reserves slots for sessions without a process, ends those that were not resumed in time, and forgets ended ones. One
   * run at a time.
   */
  tidy(windowMs: number): Promise<void> {
    return (this.#tidying ??= this.#tidy(windowMs).finally(() => (this.#tidying = undefined)));
  }

  async #tidy(windowMs: number): Promise<void> {
    const { journal, retentionMs } = this.#options;
    const held = new Map<string, Eventual<boolean>>();
    const orphans = new Map<string, number>();
    const gone = new Set([...this.#had.keys()].filter((id) => !this.#has(id)));
    const entries = await journal.list();
    for (const entry of entries) {
      const own = this.#durable.find(entry.id);
      // This process was suspended, or could not reach the journal for a while.
      if (own?.journal !== undefined && own.journal.epoch < entry.epoch) this.#durable.giveUp(own, TAKEN_OVER);
      if (entry.ended !== null) continue;
      const owner = entry.owner ?? "";
      // The journal was away when the session ended or was left here. Does nothing with an old epoch.
      const isGone = gone.has(entry.id) && !this.#has(entry.id);
      if (isGone && owner === this.#options.owner) await journal.release(entry.id, entry.epoch);
      if (!held.has(owner)) held.set(owner, journal.isHeld(entry));
      if (!(await held.get(owner))) orphans.set(entry.id, this.#orphans.get(entry.id) ?? performance.now());
    }
    for (const [id, since] of this.#had) {
      if (gone.has(id) && !this.#has(id) && performance.now() - since > LATE_MS) this.#had.delete(id);
    }
    this.#owners = (await Promise.all(held.values())).filter(Boolean).length;
    for (const [id, seen] of orphans) {
      if (performance.now() - seen < windowMs) continue;
      // Its client has come meanwhile.
      if (this.#has(id)) continue;
      orphans.delete(id);
      this.#had.set(id, performance.now());
      const record = await Promise.resolve(journal.takeOver(id)).catch(() => undefined);
      if (record !== undefined) await journal.end(id, record.epoch, "was not resumed in time");
    }
    for (const id of orphans.keys()) if (this.#has(id)) orphans.delete(id);
    this.#orphans = orphans;
    await journal.removeEnded(entries, Date.now() - retentionMs);
  }

  #has(key: string): boolean {
    return this.#restoring.has(key) || this.#durable.find(key) !== undefined;
  }

  async close(): Promise<void> {
    await this.#options.journal.close();
  }

  /** Leaves a session to the server that its client has come to: now, or when it asks again after the running step. */
  async #handOver(key: string): Promise<void> {
    const durableSession = this.#durable.find(key);
    // Another client with the same name, by mistake.
    if (durableSession?.policy.isShared && (await durableSession.holder?.isAlive())) return;
    if (durableSession?.journal?.isRestorable !== true || !durableSession.journal.isSettled) return;
    if (durableSession.sessions.some(({ busy }) => busy)) return;
    // It may have been an earlier connection that arrived late at the other server: then the client is here, and comes again.
    durableSession.holder?.moved();
    this.#durable.giveUp(durableSession, "continues on another server");
  }

  async #restore(id: string, opener: SessionOpener): Promise<string | undefined> {
    this.#had.set(id, performance.now());
    const record = await this.#ask(() => this.#options.journal.takeOver(id));
    if (record === undefined) return "the session has ended";
    const begun = readRestores(record);
    const isFatal = begun >= MAX_RESTORES;
    const lost = readLost(record) ?? (isFatal ? `${begun} processes have ended while they restored it` : undefined);
    if (lost !== undefined) {
      if (record.isDamaged || isFatal)
        this.#options.log.warn({ session: id, fault: "infrastructure" }, `the session is lost: ${lost}`);
      return this.#lose(record, lost);
    }
    const restore = (): Promise<string | undefined> => this.#restoreTaken(record, opener, begun + 1);
    if (begun === 0) return restore();
    // Its slot is reserved while it waits.
    this.#orphans.delete(id);
    return this.#suspects.restore(restore);
  }

  async #lose(record: JournalRecord, reason: string): Promise<string> {
    const told = policyOf(record).isReopened ? `could not be restored: ${reason}` : reason;
    await this.#options.journal.end(record.id, record.epoch, told);
    return reason;
  }

  /** Restores a session that this process has taken over; `nth`: how many processes have tried it. */
  async #restoreTaken(record: JournalRecord, opener: SessionOpener, nth: number): Promise<string | undefined> {
    const { journal, codec } = this.#options;
    const { id, epoch } = record;
    const batch = opener.client === "batch" ? new Batch(this.#durable.sessions, id, opener) : undefined;
    this.#tries.set(record, nth - 1);
    try {
      await journal.commit(id, epoch, putRestores(nth));
      if (batch === undefined) this.#continue(await openStored(this.#parts, record, opener), record);
      else {
        for (const [number, own] of readBatch(record)) {
          const image = readImage(record, codec, `${number}.`);
          const { principal } = opener;
          const member = { ...BATCH_OPENER, id: own, isRestored: true, principal };
          batch.restore(number, await openImage(this.#durable.sessions, image, member));
        }
        this.#continue(batch, record);
      }
      this.#orphans.delete(id);
      return undefined;
    } catch (error) {
      batch?.end("it could not be restored");
      const isLater = !(error instanceof SessionRejectedError) || error.data.code === "CAPACITY_REACHED";
      if (!isLater && policyOf(record).isReopened) return this.#lose(record, error.message);
      // A session that was refused before it was tried may still end the process.
      await this.#leave(record, isLater ? nth - 1 : 0);
      if (isLater) throw error;
      return error.message;
    } finally {
      this.#tries.delete(record);
    }
  }

  /** Leaves a session that was not restored to a server with another version or more room. */
  async #leave({ id, epoch }: JournalRecord, restores: number): Promise<void> {
    const { journal } = this.#options;
    try {
      await journal.commit(id, epoch, putRestores(restores));
    } finally {
      await journal.release(id, epoch);
    }
  }

  #continue(target: Session | Batch, record: JournalRecord): void {
    const durable = this.#durable;
    const durableSession = durable.add(target, record.tokenHash, undefined);
    for (const { seq, request, answer, id } of readAnswers(record, this.#options.codec)) {
      durableSession.answers.restore(id ?? seq, request, answer);
    }
    const unsent = readUnsent(record);
    if (unsent !== undefined) durable.ledgerOf(target as Session).restoreUnsent(unsent);
    const own = storeIn(this.#parts, durableSession, (parts) => SessionJournal.restored(record, parts));
    this.#durable.detach(durableSession);
    own.survived();
  }

  #ask<T>(action: () => Eventual<T>): Promise<T> {
    return askJournal(action, this.#options.log);
  }
}
