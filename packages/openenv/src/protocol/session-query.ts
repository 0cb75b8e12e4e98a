/** The columns by which sessions can be sorted; `state` sorts by the duration of the call in flight. */
export const SESSION_COLUMNS = [
  "session",
  "client",
  "state",
  "open",
  "episodes",
  "step",
  "reward",
  "failed",
  "idle",
  "worker",
] as const;
export type SessionColumn = (typeof SESSION_COLUMNS)[number];

/** Which sessions `GET /web/server` lists. */
export interface SessionQuery {
  limit: number;
  /** The number of sessions before the first listed one. */
  offset: number;
  sort: SessionColumn;
  down: boolean;
  /** Words that a session must all contain, case-insensitive; empty for every session. */
  find: string;
}

/** The most sessions that `GET /web/server` lists. */
const MAX_LISTED_SESSIONS = 1000;

/** The longest call in flight first, then the oldest session. */
export const DEFAULT_SESSION_QUERY: SessionQuery = { limit: 200, offset: 0, sort: "state", down: true, find: "" };

/** Longer searches are truncated. */
const MAX_FIND = 200;

/** Reads `limit`, `offset`, `sort`, `order` and `find`; missing and invalid values become the default. */
export function parseSessionQuery(parameters: URLSearchParams): SessionQuery {
  const { limit, sort } = DEFAULT_SESSION_QUERY;
  const requested = Number(parameters.get("limit") ?? limit);
  const offset = Number(parameters.get("offset") ?? 0);
  return {
    limit: Number.isInteger(requested) ? Math.min(Math.max(requested, 0), MAX_LISTED_SESSIONS) : limit,
    offset: Number.isSafeInteger(offset) ? Math.max(offset, 0) : 0,
    sort: SESSION_COLUMNS.find((column) => column === parameters.get("sort")) ?? sort,
    down: parameters.get("order") !== "asc",
    find: (parameters.get("find") ?? "").slice(0, MAX_FIND),
  };
}
