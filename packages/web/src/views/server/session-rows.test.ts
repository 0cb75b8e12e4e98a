import { describe, expect, test } from "vitest";
import type { ServerViewListedSession } from "../../../../openenv/src/protocol/web.js";
import { describeTask, rowOf, searchFor, shortId } from "./session-rows.js";

const SESSION: ServerViewListedSession = {
  session_id: "w1-bbbbbbbb-cccc",
  created_at: 900,
  last_activity_at: 990,
  step_count: 3,
  environment_type: "counter_env",
  episode_id: "e1",
  attached: true,
  client: "mcp",
  state: "idle",
  busy_s: null,
  detached_s: null,
  episodes: 1,
  steps: 3,
  reward: 0.5,
  done: false,
  failed_steps: 0,
  task: { seed: 7, split: "train", index: 3 },
  worker: 1,
  handle: "a1b2c3d4e5f6",
};

describe("a row of the table of sessions", () => {
  test("shows the activity of a session, and marks the one of this page", () => {
    const options = { at: 1000, rates: new Map([[SESSION.session_id, 4]]), own: new Set<string>() };
    expect(rowOf(SESSION, options)).toMatchObject({ client: "MCP", state: "idle", openFor: 100, idleFor: 10, rate: 4 });
    expect(rowOf(SESSION, { ...options, own: new Set(["e1"]) }).client).toBe("This page");
    expect(describeTask(SESSION)).toBe("train / 3 · seed 7");
    expect(describeTask({ ...SESSION, task: { seed: 0 } })).toBe("seed 0");
    expect(describeTask({ ...SESSION, task: null })).toBe("");
    expect(shortId(SESSION.session_id)).toBe("bbbbbbbb");
  });

  test("of this page is found by its episode", () => {
    expect(searchFor("this Page idle", "e1")).toBe("e1 idle");
    expect(searchFor("this page", null)).toBe("this page");
  });
});
