import type {
  EpisodeRow,
  FailureRow,
  GroupRow,
  RolloutFacets,
  RolloutLive,
  RolloutOutcome,
  RolloutPage,
} from "openenv-ts/protocol";
import type { RolloutsRoute } from "../../app/router.js";
import { ask, isRefusal } from "../../server/get.js";
import { readStream } from "../../server/read-stream.js";
import { keepToken, tabToken } from "../../server/token.js";
import { isOver } from "./outcome.js";
import { queryOf } from "./terms.js";

export type TableQuery = Pick<RolloutsRoute, "q" | "by" | "sort">;

/** Rows of one kind. */
export type Rows =
  | { by: "episode"; list: readonly EpisodeRow[] }
  | { by: "group"; list: readonly GroupRow[] }
  | { by: "failure"; list: readonly FailureRow[] };

/** All data of the table. Immutable: every answer creates a new object. */
export interface RolloutsState {
  /** Undefined before the first answer. */
  rows: Rows | undefined;
  /** The number of rows that match, and the cursor of those that are not loaded yet. */
  total: number;
  next: string | null;
  facets: RolloutFacets | undefined;
  /** The episodes of the open groups; undefined while they load. */
  open: ReadonlyMap<string, readonly EpisodeRow[] | undefined>;
  /** Episodes that began after the rows were loaded. */
  fresh: number;
  /** Ids of the episodes that are marked for comparison: A, then B. */
  marks: readonly string[];
  /** Why the rows or the stream are old, as a message. */
  problem: string | undefined;
  live: "off" | "on" | "lost" | "paused";
  /** The token is missing, wrong, or without the right. */
  refused: boolean;
}

export const PAGE_ROWS = 100;
const MOST_ROWS = 1000;
/** Facets, groups and failures count all episodes, so they are not read again with every message. */
const COUNTS_EVERY_MS = 10_000;
const RETRY_MS = [1000, 2000, 4000, 8000, 15_000] as const;

const START: RolloutsState = {
  rows: undefined,
  total: 0,
  next: null,
  facets: undefined,
  open: new Map(),
  fresh: 0,
  marks: [],
  problem: undefined,
  live: "off",
  refused: false,
};

interface AskOptions {
  after?: string;
  limit?: number;
  signal: AbortSignal | undefined;
  /** Is read at the same time. */
  facets?: Promise<void> | undefined;
}

/** Reads the table from the server. */
class RolloutsData {
  #state = START;
  #query: TableQuery | undefined;
  #listeners = new Set<() => void>();
  #asking: AbortController | undefined;
  #isAskingMore = false;
  #streaming: AbortController | undefined;
  #facetsAt = 0;
  /** Episodes began or ended since the facets were read. */
  #hasNews = false;
  /** The query of the facets in the state. */
  #facetsOf: string | undefined;
  /** A stream was read, so messages may have been missed since. */
  #hasStreamed = false;
  /** Names of the rows that are loaded. */
  #known = new Set<string>();
  /** For each request without an answer, the rows that messages have changed since it was sent. */
  readonly #since = new Set<Map<string, EpisodeRow>>();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) {
      document.addEventListener("visibilitychange", this.#visible);
      this.#visible();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      document.removeEventListener("visibilitychange", this.#visible);
      this.#streaming?.abort();
    };
  };

  readonly snapshot = (): RolloutsState => this.#state;

  /** Reads the first rows of a query, unless they are shown. */
  show(query: TableQuery): void {
    const before = this.#query;
    if (before && before.q === query.q && before.by === query.by && before.sort === query.sort) return;
    this.#query = query;
    void this.reload(this.#state.facets !== undefined && this.#facetsOf === query.q);
  }

  /** Reads the first rows again. */
  async reload(keepsFacets = false): Promise<void> {
    const query = this.#query;
    if (!query) return;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    this.#isAskingMore = false;
    try {
      const facets = keepsFacets ? undefined : this.#readFacets(asking.signal);
      const page = await this.#ask(query, { signal: asking.signal, facets });
      const rows = { by: query.by, list: page.rows } as Rows;
      this.#known = new Set(page.rows.map(nameOf));
      this.#set({ rows, total: page.total, next: page.next, open: new Map(), fresh: 0, problem: undefined });
    } catch (error) {
      this.#fail(error, asking.signal);
    }
  }

  /** Reads the rows after the last one, more of them when the one that is wanted is far away. */
  async more(wanted: number): Promise<void> {
    const [query, asking] = [this.#query, this.#asking];
    const { next, rows } = this.#state;
    if (!query || !asking || !rows || next === null || this.#isAskingMore || rows.by !== query.by) return;
    this.#isAskingMore = true;
    try {
      const rest = Math.max(PAGE_ROWS, Math.min(MOST_ROWS, wanted - rows.list.length));
      const page = await this.#ask(query, { after: next, limit: rest, signal: asking.signal });
      // An order that changed meanwhile may repeat some.
      const fresh = page.rows.filter((row) => !this.#known.has(nameOf(row)));
      for (const row of fresh) this.#known.add(nameOf(row));
      const list = [...(this.#state.rows?.list ?? []), ...fresh];
      this.#isAskingMore = false;
      this.#set({ rows: { by: query.by, list } as Rows, total: page.total, next: page.next, problem: undefined });
    } catch (error) {
      this.#isAskingMore = false;
      this.#fail(error, asking.signal);
    }
  }

  /** Shows the episodes of a group below it, or folds them. */
  async fold(group: GroupRow, open: boolean): Promise<void> {
    const key = groupKey(group);
    const close = (): void => this.#set({ open: new Map([...this.#state.open].filter(([one]) => one !== key)) });
    if (!open) return close();
    const signal = this.#asking?.signal;
    this.#set({ open: new Map(this.#state.open).set(key, undefined) });
    const { group: name, run, policy } = group;
    const q = queryOf({ group: name, run, policy });
    try {
      const page = await this.#ask({ q, by: "episode", sort: "reward" }, { signal });
      if (!this.#state.open.has(key)) return;
      this.#set({ open: new Map(this.#state.open).set(key, page.rows as EpisodeRow[]) });
    } catch (error) {
      close();
      this.#fail(error, signal);
    }
  }

  /** Marks an episode for comparison, as A, then as B, or removes its mark. */
  mark(id: string): void {
    const { marks } = this.#state;
    this.#set({ marks: marks.includes(id) ? marks.filter((one) => one !== id) : [...marks.slice(0, 1), id] });
  }

  /** A token replaces the previous one. */
  open(token: string): void {
    keepToken(token);
    this.#set({ refused: false, problem: undefined });
    void this.reload();
    this.#visible();
  }

  setPaused(paused: boolean): void {
    this.#set({ live: paused ? "paused" : "off" });
    this.#visible();
  }

  /** The rows of the answer, or of a message that came before it and before the facets, whichever are later. */
  async #ask(of: TableQuery, { after, limit = PAGE_ROWS, signal, facets }: AskOptions): Promise<RolloutPage> {
    const query = new URLSearchParams({ ...of, limit: String(limit), ...(after === undefined ? {} : { after }) });
    const since = new Map<string, EpisodeRow>();
    this.#since.add(since);
    try {
      const [page] = await Promise.all([ask<RolloutPage>(`/rollouts?${query}`, signal ? { signal } : {}), facets]);
      return of.by === "episode" ? { ...page, rows: [...updated(page.rows as EpisodeRow[], since)] } : page;
    } finally {
      this.#since.delete(since);
    }
  }

  async #readFacets(signal?: AbortSignal): Promise<void> {
    this.#facetsAt = performance.now();
    this.#hasNews = false;
    const q = this.#query?.q ?? "";
    const facets = await ask<RolloutFacets>(`/rollouts/facets?${new URLSearchParams({ q })}`, signal ? { signal } : {});
    this.#facetsOf = q;
    this.#set({ facets });
  }

  /** A hidden tab reads nothing. */
  readonly #visible = (): void => {
    this.#streaming?.abort();
    if (document.hidden || this.#state.live === "paused" || this.#state.refused || this.#listeners.size === 0) return;
    const streaming = new AbortController();
    this.#streaming = streaming;
    void this.#stream(streaming.signal);
  };

  async #stream(signal: AbortSignal): Promise<void> {
    for (let tries = 0; !signal.aborted; ) {
      let hasMissed = this.#hasStreamed;
      try {
        await readStream("/rollouts/live", { signal }, (event, data) => {
          if (event !== "message") {
            hasMissed = true;
            if (event === "problem") this.#set({ problem: (data as { message: string }).message });
            return;
          }
          tries = 0;
          this.#take(data as RolloutLive);
          if (hasMissed) void this.#refresh();
          hasMissed = false;
          this.#hasStreamed = true;
        });
      } catch (error) {
        if (isRefusal(error)) return this.#fail(error, signal);
      }
      if (signal.aborted) return;
      this.#set({ live: "lost" });
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]));
    }
  }

  /** Rows change where they are, and none is added: what is being read does not move. */
  #take(message: RolloutLive): void {
    const { rows, open, facets, fresh, total } = this.#state;
    const changed = new Map(message.rows.map((row) => [row.id, row]));
    for (const since of this.#since) for (const row of message.rows) since.set(row.id, row);
    this.#set({
      live: "on",
      fresh: fresh + message.added,
      rows: rows?.by === "episode" ? { by: rows.by, list: updated(rows.list, changed) } : rows,
      open: open.size === 0 ? open : new Map([...open].map(([key, list]) => [key, list && updated(list, changed)])),
      facets: facets && { ...facets, total: message.total, outcomes: withCounts(facets.outcomes, message.outcomes) },
    });
    if (total === 0 && message.added > 0) return void this.reload();
    this.#hasNews ||= message.added + message.ended > 0;
    if (!this.#hasNews || performance.now() - this.#facetsAt <= COUNTS_EVERY_MS) return;
    if (rows && rows.by !== "episode") return void this.#refresh();
    this.#readFacets(this.#asking?.signal).catch(() => {});
  }

  /** Reads the rows that are shown again, each where it is: messages about them were missed. */
  async #refresh(): Promise<void> {
    const [query, asking, { rows }] = [this.#query, this.#asking, this.#state];
    if (!rows) return this.reload();
    if (!query || !asking || rows.by !== query.by) return;
    const { signal } = asking;
    try {
      const most = Math.min(MOST_ROWS, rows.list.length + PAGE_ROWS);
      const page = await this.#ask(query, { limit: most, signal, facets: this.#readFacets(signal) });
      const now = new Map(page.rows.map((row) => [nameOf(row), row]));
      const list = (this.#state.rows?.list ?? []).map((row) => now.get(nameOf(row)) ?? row);
      const fresh = Math.max(this.#state.fresh, page.total - this.#state.total);
      this.#set({ rows: { by: query.by, list } as Rows, fresh, problem: undefined });
    } catch (error) {
      this.#fail(error, signal);
    }
  }

  #fail(error: unknown, signal: AbortSignal | undefined): void {
    if (signal?.aborted) return;
    if (!isRefusal(error)) return this.#set({ problem: (error as Error).message });
    // Only those with the right may see the data.
    const problem =
      tabToken() === undefined ? undefined : "The server rejected this token, or it has no right to read.";
    this.#set({ ...START, refused: true, problem });
  }

  #set(change: Partial<RolloutsState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** The data outlive the view, so that the way back shows the same rows at once. */
export const data = new RolloutsData();

/** A group has one name in each run and step of the policy. */
export function groupKey({ group, run, policy }: GroupRow): string {
  return [run ?? "", policy ?? "", group].join("/");
}

function nameOf(row: EpisodeRow | GroupRow | FailureRow): string {
  return "id" in row ? row.id : "key" in row ? row.key : groupKey(row);
}

/** The later state of each row: a message may be older than an answer, and an answer older than a message. */
function updated(rows: readonly EpisodeRow[], changed: ReadonlyMap<string, EpisodeRow>): readonly EpisodeRow[] {
  return rows.some(({ id }) => changed.has(id)) ? rows.map((row) => later(row, changed.get(row.id) ?? row)) : rows;
}

function later(one: EpisodeRow, other: EpisodeRow): EpisodeRow {
  if (isOver(one) !== isOver(other)) return isOver(one) ? one : other;
  return other.steps > one.steps || (other.steps === one.steps && other.duration >= one.duration) ? other : one;
}

function withCounts(outcomes: RolloutFacets["outcomes"], all: RolloutLive["outcomes"]): RolloutFacets["outcomes"] {
  const entries = Object.entries(outcomes) as [RolloutOutcome, { all: number; matching: number }][];
  return Object.fromEntries(
    entries.map(([name, count]) => [name, { ...count, all: all[name] ?? count.all }]),
  ) as RolloutFacets["outcomes"];
}
