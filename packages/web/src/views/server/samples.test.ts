import { describe, expect, test } from "vitest";
import type { ServerView, ServerViewListedSession } from "../../../../openenv/src/protocol/web.js";
import { addSample, Rates, type Sample, windowOf } from "./samples.js";

const view = (at: number): ServerView => ({ at, steps_per_second: at, latency_ms: null }) as ServerView;
const session = (id: string, steps: number) => ({ session_id: id, steps }) as ServerViewListedSession;

describe("the recent history", () => {
  test("is limited to five minutes", () => {
    let samples: readonly Sample[] = [];
    for (let at = 1000; at < 2000; at++) samples = addSample(samples, view(at));
    expect(samples).toHaveLength(301);
    expect(samples.at(-1)).toEqual({ at: 1999, stepsPerSecond: 1999, p50: null, p99: null });
    expect(windowOf(samples)).toBe(300);
    expect(windowOf(samples.slice(0, 10))).toBe(60);
  });

  test("restarts when the clock of the server was set back", () => {
    expect(addSample(addSample([], view(2000)), view(1000))).toHaveLength(1);
  });
});

describe("the rate of a session", () => {
  test("is computed over the last seconds, and undefined after one response", () => {
    const rates = new Rates();
    rates.add(100, [session("a", 10)]);
    expect(rates.of("a")).toBeUndefined();
    rates.add(102, [session("a", 30), session("b", 5)]);
    expect(rates.of("a")).toBe(10);
    expect(rates.of("b")).toBeUndefined();
    rates.add(107, [session("a", 30)]);
    expect(rates.of("a")).toBe(0);
  });

  test("of a closed session is dropped, and is never negative for one that restarted", () => {
    const rates = new Rates();
    rates.add(1, [session("a", 10)]);
    rates.add(2, [session("a", 2)]);
    expect(rates.of("a")).toBe(0);
    rates.add(3, []);
    expect(rates.of("a")).toBeUndefined();
  });
});
