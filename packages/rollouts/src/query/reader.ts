import { crc32 } from "node:zlib";
import { OpenEnvError } from "#core/errors.js";
import type { JsonObject } from "#core/protocol/messages.js";
import {
  parseRolloutQuery,
  ROLLOUT_OUTCOMES,
  type RolloutOutcome,
  type RolloutTerm,
} from "#core/protocol/rollout-query.js";
import type {
  EpisodeRow,
  FailureRow,
  ForkValue,
  GroupRow,
  PreferencePair,
  RolloutDetail,
  RolloutFacets,
  RolloutLive,
  RolloutPage,
} from "#core/protocol/rollouts.js";
import type { ArchiveQuery } from "#core/server/parts/rollouts.js";
import type { SqliteDatabase, SqliteRow, Statement } from "#core/server/sqlite/database.js";
import { summarizeForks } from "../forks/value.js";
import { readEvents } from "../store/event-lines.js";
import { PARTS } from "../store/store-file.js";
import { Columns, isRunning } from "./columns.js";
import { matchesOf } from "./matches.js";
import { facetsOf, failuresOf, groupsOf, type StoredFailure } from "./summaries.js";

type Row = EpisodeRow | GroupRow | FailureRow;
type JsonCall = ["list", ArchiveQuery] | ["facets", string] | ["detail", string, number, number] | ["live", boolean];

const MAX_FOUND = 1_000_000;
/** Rows in one message to viewers. */
const MAX_RUNNING = 200;
const MAX_CHANGED = 500;
const [STUCK, RUNNING] = [ROLLOUT_OUTCOMES.indexOf("stuck"), ROLLOUT_OUTCOMES.indexOf("running")];
/** The columns that sort rows: numbers, and members of the rows of groups and failures. */
export const SORTS = {
  episode: ["started", "reward", "steps", "duration", "policy", "seed", "outcome"],
  group: ["spread", "mean", "count"],
  failure: ["count"],
} as const;

/** Answers questions about an archive, in memory. It only reads. */
export class Reader {
  readonly #db: SqliteDatabase;
  readonly #columns: Columns;
  readonly #search: Statement;
  readonly #byKey: Statement;
  readonly #byId: Statement;
  readonly #parts: Statement;
  readonly #sessions: Statement;
  readonly #forks: Statement;
  /** Undefined for an archive that was made before there were pairs, and that nothing has written since. */
  readonly #pairs: Statement | undefined;
  /** The rows of the last list, for its next page. */
  #listed: { key: string; rows: readonly (number | GroupRow | FailureRow)[] } | undefined;
  /** False in a thread that replaces one that has ended: the file has nothing new for it. */
  #isWatched = false;

  constructor(db: SqliteDatabase) {
    this.#db = db;
    this.#columns = new Columns(db);
    // One text of all keys costs a part of the time of a row for each.
    const found = `(SELECT rowid AS k FROM words WHERE words MATCH ? LIMIT ${MAX_FOUND})`;
    this.#search = db.prepare(`SELECT json_group_array(k) AS keys FROM ${found}`);
    this.#byKey = db.prepare("SELECT * FROM episodes WHERE k = ?");
    this.#byId = db.prepare("SELECT * FROM episodes WHERE id = ?");
    this.#parts = db.prepare("SELECT body, sum FROM contents WHERE n >= ? AND n < ? ORDER BY n");
    this.#sessions = db.prepare("SELECT id FROM episodes WHERE handle = ? ORDER BY started DESC LIMIT 1000");
    this.#forks = db.prepare(
      "SELECT parent_step, policy_name, reward, outcome FROM episodes WHERE parent = ? ORDER BY parent_step, policy_name",
    );
    if (db.read("SELECT count(*) FROM sqlite_schema WHERE name = 'pairs'") === 1) {
      this.#pairs = db.prepare(
        "SELECT chosen, rejected, saved FROM pairs WHERE ?1 IS NULL OR ?1 IN (chosen, rejected) ORDER BY saved",
      );
    }
    this.#columns.refresh();
  }

  list({ q, by, sort, limit, after }: ArchiveQuery): RolloutPage<Row> {
    this.#columns.refresh();
    const { terms, errors } = parseRolloutQuery(q);
    const order = sort ?? (by === "episode" ? "-started" : by === "group" ? "-spread" : "-count");
    const key = JSON.stringify([terms, by, order, this.#columns.version]);
    if (this.#listed?.key !== key) this.#listed = { key, rows: this.#sort(terms, by, order) };
    const { rows } = this.#listed;
    const from = after === undefined ? 0 : rows.findIndex((row) => this.#nameOf(row) === after) + 1;
    const shown = rows.slice(from, from + limit);
    const isLast = from + limit >= rows.length;
    return {
      rows: shown.map((row) => (typeof row === "number" ? this.#rowOf(row) : row)),
      next: isLast ? null : this.#nameOf(shown.at(-1) as number),
      total: rows.length,
      query: { errors },
    };
  }

  facets(q: string): RolloutFacets {
    this.#columns.refresh();
    return facetsOf(this.#columns, this.#match(parseRolloutQuery(q).terms), (slot) => this.#failureOf(slot));
  }

  /** Undefined for an episode that is not there. @throws OpenEnvError for contents that are damaged. */
  detail(id: string, from = 0, limit = Number.POSITIVE_INFINITY): RolloutDetail | undefined {
    const row = this.#byId.get(id);
    if (row === null || row === undefined) return undefined;
    this.#columns.refresh();
    const { lines, isWhole } = this.#linesOf(row);
    const events = readEvents(lines);
    const { words } = this.#columns;
    const [error, run] = ["error", "run"].map((name) => words[name as "run"].texts.indexOf(String(row[name])));
    let similar = 0;
    for (let slot = 0; row["error"] !== null && slot < this.#columns.size; slot++) {
      if (words.error.of[slot] === error && words.run.of[slot] === (row["run"] === null ? -1 : run)) similar++;
    }
    const episode = toRow(row);
    return {
      episode,
      components: JSON.parse(String(row["components"])) as Record<string, number>,
      reset: events[0]?.type === "reset" ? (events[0].request ?? {}) : ({} as JsonObject),
      events: events.slice(from, from + limit),
      eventCount: Number(row["events"]),
      complete: isWhole && !isRunning(Number(row["outcome"])) && episode.outcome !== "incomplete",
      similar,
    };
  }

  /** The public names of the episodes that match, the oldest first. */
  ids(q: string): string[] {
    this.#columns.refresh();
    const matching = this.#match(parseRolloutQuery(q).terms);
    return this.#columns.ids.filter((_, slot) => slot < this.#columns.size && matching[slot] === 1);
  }

  /** The episodes of a session by its public name, the newest first. */
  session(handle: string): string[] {
    return this.#sessions.all(handle).map(({ id }) => String(id));
  }

  /** What the steps of an episode are worth, as far as forks were made of them. */
  forks(id: string): ForkValue[] {
    const rewards = new Map<string, { step: number; policy: string; rewards: (number | null)[] }>();
    for (const { parent_step, policy_name, reward, outcome } of this.#forks.all(id)) {
      if (isRunning(Number(outcome))) continue;
      const [step, policy] = [Number(parent_step), String(policy_name)];
      const key = `${step} ${policy}`;
      const found = rewards.get(key) ?? { step, policy, rewards: [] };
      rewards.set(key, found);
      const isLost = ["failed", "incomplete"].includes(ROLLOUT_OUTCOMES[Number(outcome)] as string);
      found.rewards.push(isLost ? null : Number(reward ?? 0));
    }
    return [...rewards.values()].map(({ step, policy, rewards: all }) => summarizeForks(step, policy, all));
  }

  /** The preference pairs of an episode, or all. */
  pairs(id: string | null = null): PreferencePair[] {
    const found = this.#pairs?.all(id) ?? [];
    return found.map(({ chosen, rejected, saved }) => ({
      chosen: String(chosen),
      rejected: String(rejected),
      savedAt: Number(saved),
    }));
  }

  /** What has changed since the last call. `isFirst`: the last one reached no viewer, so nothing is counted or kept. */
  live(isFirst = false): RolloutLive {
    const isNew = isFirst || !this.#isWatched;
    this.#isWatched = true;
    this.#columns.refresh();
    const { outcome, started } = this.#columns.numbers;
    const fresh = this.#columns.takeChanged();
    const counts = ROLLOUT_OUTCOMES.map(() => 0);
    for (const each of outcome.subarray(0, this.#columns.size)) counts[each] = (counts[each] as number) + 1;
    const running = [...fresh.keys()].filter((slot) => isRunning(outcome[slot] as number));
    // Those that are stuck first, then the newest.
    const order = (slot: number): number => (outcome[slot] as number) * 1e15 - (started[slot] as number);
    running.sort((a, b) => order(a) - order(b));
    // A row that someone sees must not stay as it was. Those that do not fit are sent later.
    const turned = [...fresh.keys()].filter((slot) => fresh.get(slot)?.hasTurned);
    if (!isNew) this.#columns.keepChanged(turned.slice(0, -MAX_CHANGED));
    const shown = new Set([...running.slice(0, MAX_RUNNING), ...turned.slice(-MAX_CHANGED)]);
    const changes = isNew ? [] : [...fresh.values()];
    return {
      at: Date.now(),
      added: changes.filter((one) => one.isNew).length,
      ended: changes.filter(({ hasEnded }) => hasEnded).length,
      running: (counts[RUNNING] as number) + (counts[STUCK] as number),
      stuck: counts[STUCK] as number,
      total: this.#columns.size,
      outcomes: Object.fromEntries(ROLLOUT_OUTCOMES.map((name, index) => [name, counts[index]])) as never,
      rows: Array.from(shown, (slot) => this.#rowOf(slot)),
    };
  }

  /** What a method returns, as JSON; empty for undefined. Made here, where it delays no session. */
  json(...[method, ...args]: JsonCall): Uint8Array<ArrayBuffer> {
    const value: unknown = Reflect.apply(this[method], this, args);
    return new TextEncoder().encode(value === undefined ? "" : JSON.stringify(value));
  }

  close(): void {
    this.#db.close();
  }

  #match(terms: readonly RolloutTerm[]): Uint8Array {
    const matches = matchesOf(terms, this.#columns, (text) => this.#slotsWith(text));
    const matching = new Uint8Array(this.#columns.size);
    for (let slot = 0; slot < matching.length; slot++) matching[slot] = matches(slot) ? 1 : 0;
    return matching;
  }

  /** The words after each other; the last one may be the beginning of a word. */
  #slotsWith(text: string): Uint8Array {
    const slots = new Uint8Array(this.#columns.size);
    const { keys } = this.#search.get(`"${text.replaceAll('"', '""')}"*`) as { keys: string };
    for (const k of JSON.parse(keys) as number[]) slots[this.#columns.slotOf(k) ?? -1] = 1;
    return slots;
  }

  #sort(terms: readonly RolloutTerm[], by: ArchiveQuery["by"], order: string): (number | GroupRow | FailureRow)[] {
    const matching = this.#match(terms);
    const isDown = order.startsWith("-");
    const name = isDown ? order.slice(1) : order;
    const { numbers, size } = this.#columns;
    if (by === "episode") {
      const values = numbers[name as "started"];
      const slots: number[] = [];
      for (let slot = 0; slot < size; slot++) if (matching[slot] === 1) slots.push(slot);
      // The newest of those that are equal is then the first.
      if (isDown) slots.reverse();
      return sortBy(slots, (slot) => values[slot] as number, isDown);
    }
    if (by === "failure")
      return sortBy(
        failuresOf(this.#columns, matching, (slot) => this.#failureOf(slot)),
        ({ count }) => count,
        isDown,
      );
    const read = { spread: "deviation", mean: "mean", count: "count" }[name] as "mean";
    return sortBy(groupsOf(this.#columns, matching), (row) => row[read] ?? Number.NaN, isDown);
  }

  #nameOf(row: number | GroupRow | FailureRow): string {
    if (typeof row === "number") return this.#columns.ids[row] as string;
    return "key" in row ? row.key : JSON.stringify([row.group, row.run, row.policy]);
  }

  #rowOf(slot: number): EpisodeRow {
    return toRow(this.#byKey.get(this.#columns.numbers.k[slot] as number) as SqliteRow);
  }

  #failureOf(slot: number): StoredFailure {
    const { failure } = this.#byKey.get(this.#columns.numbers.k[slot] as number) as { failure: string };
    return JSON.parse(failure) as StoredFailure;
  }

  #linesOf({ k, id, parts, events }: SqliteRow): { lines: string[]; isWhole: boolean } {
    const bodies = this.#parts.all(Number(k) * PARTS, (Number(k) + 1) * PARTS);
    const isDamaged = bodies.some(({ body, sum }) => crc32(body as Uint8Array) !== sum);
    if (isDamaged)
      throw new OpenEnvError(
        "EXECUTION_ERROR",
        `The contents of the episode ${id} are damaged: their checksum differs.`,
      );
    const lines = bodies.flatMap(({ body }) =>
      Buffer.from(body as Uint8Array)
        .toString()
        .split("\n"),
    );
    return { lines, isWhole: bodies.length === parts && lines.length === events };
  }
}

/** An episode in the table. */
function toRow(row: SqliteRow): EpisodeRow {
  const outcome = ROLLOUT_OUTCOMES[Number(row["outcome"])] as RolloutOutcome;
  const failure = row["failure"] === null ? null : (JSON.parse(String(row["failure"])) as StoredFailure);
  const text = (name: string): string | null => row[name] as string | null;
  const number = (name: string): number | null => row[name] as number | null;
  const startedAt = Number(row["started"]);
  return {
    id: String(row["id"]),
    group: text("grp"),
    task: text("task"),
    split: text("split"),
    seed: number("seed"),
    run: text("run"),
    policy: number("policy"),
    labels: JSON.parse(String(row["labels"])) as Record<string, string>,
    env: String(row["env"]),
    version: String(row["version"]),
    outcome,
    error: failure && { key: String(row["error"]), text: failure.text, fault: failure.fault },
    steps: Number(row["steps"]),
    reward: number("reward"),
    startedAt,
    duration: isRunning(Number(row["outcome"])) ? Date.now() - startedAt : Number(row["duration"]),
    note: String(row["note"]),
    strip: JSON.parse(String(row["strip"])) as EpisodeRow["strip"],
    link: `#/rollouts/${row["id"]}`,
    parent: row["parent"] === null ? null : { id: String(row["parent"]), step: Number(row["parent_step"]) },
  };
}

/** Stable. Those without a value are last. */
function sortBy<T>(rows: T[], read: (row: T) => number, isDown: boolean): T[] {
  const sign = isDown ? -1 : 1;
  return rows.sort((a, b) => {
    const [x, y] = [read(a), read(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
    return (x - y) * sign;
  });
}
