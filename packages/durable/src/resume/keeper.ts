import type { ForkBody, ForkRequest } from "#core/protocol/http.js";
import type { SessionOpener } from "#core/session/attachable-session.js";
import type {
  KeeperSettings,
  ResumeFrames,
  ResumeLimits,
  ResumingSocket,
  SessionKeeper,
} from "#core/session/registry/session-keeper.js";
import type { Sessions } from "#core/session/registry/sessions.js";
import type { Runtime } from "#core/session/runtime.js";
import type { Session } from "#core/session/session.js";
import type { DurableSession } from "../session/durable-session.js";
import { DurableSessions } from "../session/durable-sessions.js";
import type { StoredAnswers } from "../session/stored-answers.js";
import { Addresses } from "./addresses.js";
import { forkResumable } from "./fork-resumable.js";
import { SocketResume } from "./socket-resume.js";

/** The sessions of a server that outlive their connections. */
export class Keeper extends DurableSessions implements SessionKeeper {
  readonly addresses: Addresses;
  readonly #runtime: Runtime;

  constructor(sessions: Sessions, runtime: Runtime, limits: ResumeLimits) {
    super(sessions, limits);
    this.#runtime = runtime;
    this.addresses = new Addresses(this, runtime.mode);
  }

  get hasJournal(): boolean {
    return this.store !== undefined;
  }

  get reserved(): number {
    return this.store?.reserved ?? 0;
  }

  get unstored(): number {
    return [...this.all()].filter(({ journal }) => journal?.isWriting).length;
  }

  get cancelled(): number {
    const isRunning = ({ isRestorable, sessions }: DurableSession): boolean =>
      isRestorable && sessions.some(({ isCancelled }) => isCancelled);
    return [...this.all()].filter(isRunning).length;
  }

  async start(settings: KeeperSettings): Promise<AsyncDisposable | undefined> {
    if (settings.journal === undefined) return undefined;
    // Most servers have no journal, and start without its code.
    const { startStore } = await import("./start-store.js");
    const started = await startStore(settings, this, this.#runtime);
    this.store = started.store;
    return started;
  }

  async findTakers(isDraining: boolean): Promise<void> {
    await this.store?.findTakers(isDraining);
  }

  holderOf(id: string): Promise<{ sibling?: string } | undefined> | undefined {
    return this.store?.holderOf(id);
  }

  releaseAll(): void {
    this.store?.releaseAll();
  }

  remember(session: Session): StoredAnswers {
    return this.ledgerOf(session).answers;
  }

  framesFor(socket: ResumingSocket, opening: { id: string | null; opener: SessionOpener }): ResumeFrames {
    return new SocketResume(socket, this, opening);
  }

  fork(session: Session, request: ForkRequest): Promise<ForkBody> {
    return forkResumable(this, session, request);
  }

  release(session: Session): void {
    const durableSession = this.of(session);
    if (durableSession !== undefined) durableSession.isReleased = true;
  }

  moveAway(session: Session, reason: string): boolean {
    const durableSession = this.of(session);
    if (durableSession?.isRestorable !== true) return false;
    this.giveUp(durableSession, reason);
    return true;
  }

  endedBatch(id: string, reason: string): void {
    this.delete(id, reason);
  }

  loseAddress(key: string): void {
    this.lose(key, "was lost with its worker");
  }
}
