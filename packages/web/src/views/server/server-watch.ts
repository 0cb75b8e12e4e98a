import type { ServerView } from "openenv-ts/protocol";
import { ask, isRefusal } from "../../server/get.js";
import { keepToken, tabToken } from "../../server/token.js";
import { addSample, Rates, type Sample } from "./samples.js";

/** Which sessions the server lists: sorted by a column, and those that contain all words of `find`. */
export interface ListQuery {
  limit: number;
  offset: number;
  sort: string;
  down: boolean;
  find: string;
}

/** All data of the Server view. Immutable: every response creates a new object. */
export interface WatchState {
  /** The latest response; undefined before the first one. */
  view: ServerView | undefined;
  samples: readonly Sample[];
  /** Steps per second by session id. */
  rates: ReadonlyMap<string, number>;
  /** Why there is no newer response, as a message. */
  problem: string | undefined;
  /** The token is missing or wrong. */
  refused: boolean;
  /** A token was sent and not confirmed yet. */
  checking: boolean;
  paused: boolean;
  /** The query of the listed sessions. */
  query: ListQuery;
  /** The query of the sessions in `view`. */
  listed: ListQuery;
}

const EVERY_MS = 1000;
/** Time limit of a request, after which the server counts as stuck. */
const DEADLINE_MS = 5000;
/** Sessions in one response: more than the table shows at once. */
export const LISTED = 100;
const QUERY: ListQuery = { limit: LISTED, offset: 0, sort: "state", down: true, find: "" };

const START: WatchState = {
  view: undefined,
  samples: [],
  rates: new Map(),
  problem: undefined,
  refused: false,
  checking: false,
  paused: false,
  query: QUERY,
  listed: QUERY,
};

/**
 * Polls the server once a second while the view is visible. Outlives the view, so that its history is kept when the
 * visitor returns.
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

  /** Polls immediately and then every second. A token replaces the previous one. */
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

  /** Changes the listed sessions immediately; while paused this is the only request. */
  list(change: Partial<ListQuery>): void {
    this.#set({ query: { ...this.#state.query, ...change } });
    this.#restart();
  }

  #restart(): void {
    this.stop();
    void this.#ask();
  }

  /** A hidden tab does not poll. */
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
      const listed = this.#state.query;
      const { limit, offset, sort, down, find } = listed;
      const order = down ? "desc" : "asc";
      const query = new URLSearchParams({ limit: String(limit), offset: String(offset), sort, order, find });
      const view = await ask<ServerView>(`/web/server?${query}`, { signal });
      if (asking.signal.aborted) return;
      this.#take(view, listed);
    } catch (error) {
      if (asking.signal.aborted) return;
      if (isRefusal(error)) return this.#refuse();
      const problem = signal.aborted
        ? `The server has not responded for ${DEADLINE_MS / 1000} s.`
        : (error as Error).message;
      this.#set({ problem, checking: false });
    }
    if (this.#state.paused) return;
    this.#timer = setTimeout(() => void this.#ask(), Math.max(0, EVERY_MS - (performance.now() - start)));
  }

  #take(view: ServerView, listed: ListQuery): void {
    this.#rates.add(view.at, view.sessions);
    const rates = new Map<string, number>();
    for (const { session_id } of view.sessions) {
      const rate = this.#rates.of(session_id);
      if (rate !== undefined) rates.set(session_id, rate);
    }
    const samples = addSample(this.#state.samples, view);
    this.#set({ view, listed, rates, samples, problem: undefined, checking: false });
  }

  /** Removes the data, which only operators may see. */
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
