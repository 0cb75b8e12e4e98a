import { DEFAULT_SESSION_QUERY, renderSessionQuery, type ServerView, type SessionQuery } from "openenv-ts/protocol";
import { ask, RequestError } from "../../server/get.js";
import { keepToken, tabToken } from "../../server/token.js";
import { addSample, Rates, type Sample } from "./samples.js";

/** All that the Server view shows. A value: every answer makes another one. */
export interface WatchState {
  /** The latest answer; undefined before the first one. */
  view: ServerView | undefined;
  samples: readonly Sample[];
  /** Steps a second of each session, by its id. */
  rates: ReadonlyMap<string, number>;
  /** Why there is no newer answer, in words. */
  problem: string | undefined;
  /** The server asked for a token, or for another one. */
  refused: boolean;
  /** A token was sent, and the server has not said yet what it thinks of it. */
  checking: boolean;
  paused: boolean;
  /** The sessions that are listed. */
  query: SessionQuery;
  /** What the sessions of `view` were searched for. */
  foundBy: string;
}

const EVERY_MS = 1000;
/** A server that takes longer is stuck. */
const DEADLINE_MS = 5000;
/** Sessions that are shown at first. */
const FEW_SESSIONS = 50;

const START: WatchState = {
  view: undefined,
  samples: [],
  rates: new Map(),
  problem: undefined,
  refused: false,
  checking: false,
  paused: false,
  query: { ...DEFAULT_SESSION_QUERY, limit: FEW_SESSIONS },
  foundBy: "",
};

/**
 * Asks the server once a second while somebody looks on. Outlives the view, so that its numbers are still there when
 * the visitor comes back.
 */
export class ServerWatch {
  #state = START;
  #isStarted = false;
  #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;
  readonly #rates = new Rates();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) document.addEventListener("visibilitychange", this.#visible);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      document.removeEventListener("visibilitychange", this.#visible);
      this.stop();
    };
  };

  readonly snapshot = (): WatchState => this.#state;

  /** Asks at once and then every second. A token replaces the one of before. */
  start(token = tabToken()): void {
    const checking = token !== tabToken() || this.#state.checking;
    keepToken(token);
    this.#isStarted = true;
    this.#set({ refused: false, checking, paused: false });
    this.#restart();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#asking = undefined;
  }

  setPaused(paused: boolean): void {
    this.#set({ paused });
    if (paused) this.stop();
    else this.#restart();
  }

  /** Lists other sessions, at once; while paused this is the only request. */
  list(change: Partial<SessionQuery>): void {
    this.#set({ query: { ...this.#state.query, ...change } });
    this.#restart();
  }

  #restart(): void {
    this.stop();
    void this.#ask();
  }

  /** A tab that nobody sees asks for nothing. */
  readonly #visible = (): void => {
    if (!this.#isStarted || this.#state.paused || this.#state.refused) return;
    if (document.hidden) this.stop();
    else this.#restart();
  };

  async #ask(): Promise<void> {
    const asking = new AbortController();
    this.#asking = asking;
    const start = performance.now();
    const signal = AbortSignal.any([asking.signal, AbortSignal.timeout(DEADLINE_MS)]);
    try {
      const { query } = this.#state;
      const view = await ask<ServerView>(`/web/server?${renderSessionQuery(query)}`, { signal });
      if (asking.signal.aborted) return;
      this.#take(view, query.find);
    } catch (error) {
      if (asking.signal.aborted) return;
      if (error instanceof RequestError && (error.status === 401 || error.status === 403)) return this.#refuse();
      const problem = signal.aborted
        ? `The server has not answered for ${DEADLINE_MS / 1000} s.`
        : (error as Error).message;
      this.#set({ problem, checking: false });
    }
    if (this.#state.paused) return;
    this.#timer = setTimeout(() => void this.#ask(), Math.max(0, EVERY_MS - (performance.now() - start)));
  }

  #take(view: ServerView, foundBy: string): void {
    this.#rates.add(view.at, view.sessions);
    const rates = new Map<string, number>();
    for (const { session_id } of view.sessions) {
      const rate = this.#rates.of(session_id);
      if (rate !== undefined) rates.set(session_id, rate);
    }
    const samples = addSample(this.#state.samples, view);
    this.#set({ view, foundBy, rates, samples, problem: undefined, checking: false });
  }

  /** What was shown belongs to those who have the right. */
  #refuse(): void {
    const problem = tabToken() === undefined ? undefined : "The server rejected this token.";
    keepToken(undefined);
    this.#set({ ...START, refused: true, problem });
  }

  #set(change: Partial<WatchState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
