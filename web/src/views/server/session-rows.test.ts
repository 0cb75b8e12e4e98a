import { describe, expect, test } from "vitest";
import type { ServerViewSession } from "../../../../openenv/src/protocol/web.js";
import { COLUMNS, type Column, rowsOf, shortId } from "./session-rows.js";

const session = (id: string, rest: Partial<ServerViewSession> = {}): ServerViewSession => ({
  session_id: id,
  created_at: 900,
  last_activity_at: 990,
  step_count: 3,
  environment_type: "counter_env",
  episode_id: `episode of ${id}`,
  attached: true,
  client: "websocket",
  busy_s: null,
  episodes: 1,
  steps: 3,
  worker: 0,
  ...rest,
});
const SESSIONS = [
  session("w0-aaaa", { created_at: 500 }),
  session("w1-bbbb", { worker: 1, client: "mcp", last_activity_at: 999.5, steps: 9 }),
  session("w0-cccc", { busy_s: 9, created_at: 800 }),
];

const rows = ({ find = "", column = "open" as Column, down = true, own = new Set<string>() } = {}) =>
  rowsOf(SESSIONS, { at: 1000, rates: new Map([["w1-bbbb", 4]]), own, find, sort: { column, down } });
const ids = (options?: Parameters<typeof rows>[0]) =>
  rows(options).map(({ session: { session_id } }) => shortId(session_id));

describe("the table of sessions", () => {
  test("tells what a session is doing", () => {
    expect(rows().map(({ state, client, openFor }) => [state, client, openFor])).toEqual([
      ["idle", "WebSocket", 500],
      ["slow", "WebSocket", 200],
      ["stepping", "MCP", 100],
    ]);
  });

  test("knows which session is this page's own", () => {
    expect(rows({ own: new Set(["episode of w0-aaaa"]) })[0]?.client).toBe("This page");
  });

  test("is sorted by any column, both ways", () => {
    expect(ids({ column: "session", down: false })).toEqual(["aaaa", "cccc", "bbbb"]);
    expect(ids({ column: "rate" })[0]).toBe("bbbb");
    expect(ids({ column: "worker" })[0]).toBe("bbbb");
    expect(ids({ column: "idle", down: false })[0]).toBe("bbbb");
    for (const { name } of COLUMNS) expect(rows({ column: name })).toHaveLength(3);
  });

  test("is searched by id, client, state, worker and episode, all words of them", () => {
    expect(ids({ find: "BBB" })).toEqual(["bbbb"]);
    expect(ids({ find: "mcp" })).toEqual(["bbbb"]);
    expect(ids({ find: "worker 0 slow" })).toEqual(["cccc"]);
    expect(ids({ find: "episode of w0-aaaa" })).toEqual(["aaaa"]);
    expect(ids({ find: "nobody" })).toEqual([]);
  });
});
