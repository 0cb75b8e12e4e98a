import type { ServerViewSession } from "../../../../openenv/src/protocol/web.js";

/** One line of the table of sessions. Times are seconds. */
export interface Row {
  session: ServerViewSession;
  client: string;
  /** `slow`: a call has taken longer than steps should. */
  state: "slow" | "stepping" | "idle";
  openFor: number;
  idleFor: number;
  rate: number | undefined;
}

export const COLUMNS = [
  { name: "session", label: "Session", look: "" },
  { name: "client", label: "Client", look: "lo" },
  { name: "state", label: "State", look: "" },
  { name: "open", label: "Open for", look: "num" },
  { name: "episodes", label: "Episodes", look: "num lo" },
  { name: "step", label: "Step", look: "num lo" },
  { name: "rate", label: "Steps/s", look: "num" },
  { name: "idle", label: "Last active", look: "num lo" },
  { name: "worker", label: "Worker", look: "num lo" },
] as const;
export type Column = (typeof COLUMNS)[number]["name"];

interface RowOptions {
  /** Unix seconds of the answer. */
  at: number;
  rates: ReadonlyMap<string, number>;
  /** Episode ids of this page. */
  own: ReadonlySet<string>;
  /** Words that all have to be found in a row; empty for every row. */
  find: string;
  sort: { column: Column; down: boolean };
}

/** A call that takes longer is told apart, seconds. */
const SLOW_S = 2;
const ACTIVE_S = 1;
const CLIENTS = { websocket: "WebSocket", batch: "Batch", http: "HTTP", mcp: "MCP" } as const;

/** The sessions that fit the words, in the order of a column; equal ones by id, so that none changes places. */
export function rowsOf(sessions: readonly ServerViewSession[], options: RowOptions): Row[] {
  const words = options.find.toLowerCase().split(/\s+/).filter(Boolean);
  const { column, down } = options.sort;
  return sessions
    .map((session) => rowOf(session, options))
    .filter((row) => words.every((word) => textOf(row).includes(word)))
    .sort((a, b) => compare(VALUES[column](a), VALUES[column](b)) * (down ? -1 : 1) || compare(idOf(a), idOf(b)));
}

function rowOf(session: ServerViewSession, { at, rates, own }: RowOptions): Row {
  const { busy_s, client, created_at, episode_id, last_activity_at } = session;
  const idleFor = Math.max(0, at - last_activity_at);
  const isBusy = busy_s !== null || idleFor < ACTIVE_S;
  return {
    session,
    client: episode_id !== null && own.has(episode_id) ? "This page" : CLIENTS[client],
    state: busy_s !== null && busy_s >= SLOW_S ? "slow" : isBusy ? "stepping" : "idle",
    openFor: Math.max(0, at - created_at),
    idleFor,
    rate: rates.get(session.session_id),
  };
}

const STATES: Record<Row["state"], number> = { slow: 2, stepping: 1, idle: 0 };

const VALUES: Record<Column, (row: Row) => string | number> = {
  session: idOf,
  client: ({ client }) => client,
  state: ({ state }) => STATES[state],
  open: ({ openFor }) => openFor,
  episodes: ({ session }) => session.episodes,
  step: ({ session }) => session.step_count,
  rate: ({ rate }) => rate ?? 0,
  idle: ({ idleFor }) => idleFor,
  worker: ({ session }) => session.worker,
};

function idOf({ session }: Row): string {
  return session.session_id;
}

/** The start of an id, without the worker that a fleet puts before it. */
export function shortId(id: string): string {
  return id.replace(/^w\d+-/, "").slice(0, 8);
}

function textOf({ session, client, state }: Row): string {
  return `${session.session_id} ${session.episode_id} ${client} ${state} worker ${session.worker}`.toLowerCase();
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
