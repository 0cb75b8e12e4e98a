import { describe, expect, test } from "vitest";
import {
  DEFAULT_SESSION_QUERY,
  parseSessionQuery,
  SESSION_COLUMNS,
  type SessionQuery,
} from "../../protocol/session-query.js";
import type { ServerViewSession } from "../../protocol/web.js";
import { pickSessions } from "./pick-sessions.js";

const session = (id: string, rest: Partial<ServerViewSession> = {}): ServerViewSession => ({
  session_id: id,
  created_at: 900,
  last_activity_at: 990,
  step_count: 3,
  environment_type: "counter_env",
  episode_id: `episode of ${id}`,
  attached: true,
  client: "websocket",
  state: "idle",
  busy_s: null,
  detached_s: null,
  episodes: 1,
  steps: 3,
  reward: 0,
  done: false,
  failed_steps: 0,
  task: null,
  worker: 0,
  ...rest,
});
const SESSIONS = [
  session("a", { created_at: 500 }),
  session("b", { worker: 1, client: "mcp", state: "stepping", last_activity_at: 999.5, steps: 9 }),
  session("c", { state: "slow", reward: 1, busy_s: 9, created_at: 800, last_activity_at: 991 }),
  session("d", {
    state: "stepping",
    busy_s: 0.5,
    episodes: 2,
    failed_steps: 2,
    last_activity_at: 999.8,
    episode_id: "1 of d",
  }),
];
const pick = (query: Partial<SessionQuery> = {}) => {
  const { sessions, found } = pickSessions(SESSIONS, { ...DEFAULT_SESSION_QUERY, ...query });
  return [sessions.map(({ session_id }) => session_id).join(""), found];
};

describe("sessions for the operator", () => {
  test("are listed by the duration of a slow call, then by age", () => {
    expect(pick()).toEqual(["cabd", 4]);
    expect(pick({ limit: 1 })).toEqual(["c", 4]);
    expect(pick({ down: false })).toEqual(["abdc", 4]);
  });

  test("are sorted by any column, both ways", () => {
    expect(pick({ sort: "session", down: false })).toEqual(["abcd", 4]);
    expect(pick({ sort: "open" })).toEqual(["acbd", 4]);
    expect(pick({ sort: "idle", down: false })).toEqual(["dbca", 4]);
    expect(pick({ sort: "reward", limit: 1 })).toEqual(["c", 4]);
    expect(pick({ sort: "failed", limit: 1 })).toEqual(["d", 4]);
    expect(pick({ sort: "worker", limit: 1 })).toEqual(["b", 4]);
    expect(pick({ sort: "episodes", limit: 1 })).toEqual(["d", 4]);
    for (const sort of SESSION_COLUMNS) expect(pick({ sort })[1]).toBe(4);
  });

  test("are found by id, client, state, worker and episode, matching all words", () => {
    expect(pick({ find: "MCP" })).toEqual(["b", 1]);
    expect(pick({ find: "worker 0 in a call" })).toEqual(["c", 1]);
    expect(pick({ find: "websocket Worker  1" })).toEqual(["", 0]);
    expect(pick({ find: "worker 1" })).toEqual(["b", 1]);
    expect(pick({ find: "failing" })).toEqual(["d", 1]);
    expect(pick({ find: "stepping" })).toEqual(["bd", 2]);
    const detached = pickSessions([session("e", { state: "detached", detached_s: 9 })], {
      ...DEFAULT_SESSION_QUERY,
      find: "detached",
    });
    expect(detached.found).toBe(1);
    expect(pick({ find: " episode  of a " })[0]).toContain("a");
    expect(pick({ find: "nobody" })).toEqual(["", 0]);
  });

  test("are requested with a query string, in which invalid values become the default", () => {
    expect(
      parseSessionQuery(new URLSearchParams("limit=7&offset=14&sort=idle&order=asc&find=worker+1+%26+more")),
    ).toEqual({
      limit: 7,
      offset: 14,
      sort: "idle",
      down: false,
      find: "worker 1 & more",
    });
    expect(parseSessionQuery(new URLSearchParams())).toEqual(DEFAULT_SESSION_QUERY);
    expect(parseSessionQuery(new URLSearchParams("limit=-5&offset=x&sort=__proto__&order=up"))).toEqual({
      ...DEFAULT_SESSION_QUERY,
      limit: 0,
    });
    expect(parseSessionQuery(new URLSearchParams("limit=1e9")).limit).toBe(1000);
  });
});
