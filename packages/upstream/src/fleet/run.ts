import { findProblem } from "./health.js";

/** A started process, or a URL that has answered. */
export interface Running {
  readonly url: string;
  /** Resolves when it has ended by itself: `ended with signal 9`. */
  readonly ended?: Promise<string>;
  /** The leader of its process group. */
  readonly pid?: number;
  /** The last lines of its output. */
  logs(): Promise<string>;
  close(): Promise<void>;
}

type Session = (reason: string) => void;

/** One run of an upstream: from its first answer until it has ended. */
export class Run {
  readonly running: Running;
  /** Resolves when it takes no more sessions; those that it has may continue. `isLost`: it failed. */
  readonly left: Promise<{ reason: string; isLost: boolean }>;
  /** What notifies each of its sessions of the end. */
  readonly sessions = new Set<Session>();
  episodes = 0;
  memoryBytes = 0;
  /** Pings in a row without an answer. */
  missed = 0;
  /** It gets no session before it has answered a ping. */
  isSuspect = false;
  readonly #ended: (reason: string, isLost: boolean) => void;
  #leave!: (how: { reason: string; isLost: boolean }) => void;
  #leavesFor: string | undefined;
  #isEnded = false;

  /** `ended` is called once. */
  constructor(running: Running, ended: (reason: string, isLost: boolean) => void) {
    this.running = running;
    this.#ended = ended;
    this.left = new Promise((resolve) => (this.#leave = resolve));
    void running.ended?.then((reason) => this.end(reason, true));
  }

  remove(session: Session): void {
    this.sessions.delete(session);
    if (this.#leavesFor !== undefined && this.sessions.size === 0) this.end(this.#leavesFor, false);
  }

  /** Takes no more sessions, and ends with the last of those that it has. */
  leave(reason: string): void {
    this.#leavesFor ??= reason;
    this.#leave({ reason, isLost: false });
    if (this.sessions.size === 0) this.end(reason, false);
  }

  /** Asks whether it lives, because it has refused or lost a session. */
  async suspect(limitMs: number): Promise<void> {
    if (this.isSuspect) return;
    this.isSuspect = true;
    const problem = await findProblem(this.running.url, limitMs);
    this.isSuspect = false;
    if (problem !== undefined) this.end(`does not answer (${problem})`, true);
  }

  /** Ends at once, and its sessions with it. */
  end(reason: string, isLost: boolean): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#leave({ reason, isLost });
    for (const notify of this.sessions) notify(reason);
    this.sessions.clear();
    this.#ended(reason, isLost);
  }
}
