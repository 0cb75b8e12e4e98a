import { describe, expect, it } from "vitest";
import type { RequestRow } from "../types.js";
import { findMaxBatches, type NamedRow } from "./max-batch.js";
import { summarise } from "./summary.js";

const STEP_MS = 1000;

/** A burst of which `good` requests succeed and take `totalMs`. */
function made(requests: number, good: number, totalMs: number): { rows: RequestRow[] } {
  const rows = Array.from({ length: requests }, (_, index): RequestRow => {
    const success = index < good;
    const part = { connect_ms: totalMs - STEP_MS, reset_ms: 0, step_ms: STEP_MS };
    return {
      ...(success ? part : { connect_ms: null, reset_ms: null, step_ms: null }),
      start_ms: 0,
      total_ms: totalMs,
      pid: 1,
      session_hash: null,
      host_url: null,
      same_session: null,
      success,
      error_type: success ? null : "TIMEOUT",
      error: null,
    };
  });
  return { rows };
}

function all(requests: number, bursts: { rows: RequestRow[] }[], cores: number | null = 4): NamedRow {
  const client = { lagMs: 0, busy: 0, cpuSeconds: 0 };
  const results = bursts.map(({ rows }) => ({ began: 0, rows, wallSeconds: 2, client }));
  const subject = { url: "http://server", mode: "ws" as const, hardware: "", cores };
  return { ...summarise(subject, { requests, wait_seconds: 1, rep: "all" }, results), subject: "server" };
}

describe("the largest batch", () => {
  it("has 95 % success over all repetitions, and on its own account a p99 of twice the step", () => {
    const rows = [
      all(100, [made(100, 100, 1100), made(100, 100, 1900)]),
      // One repetition under 95 % is made up for by the other.
      all(200, [made(200, 200, 1500), made(200, 180, 2001)]),
      all(400, [made(400, 379, 1500), made(400, 380, 1500)]),
    ];
    expect(findMaxBatches(rows)).toMatchObject([
      { subject: "server", wait_seconds: 1, cores: 4, bySuccess: 200, byLatency: 100, perCore: 50 },
    ]);
  });

  it("takes 95 % and twice the step themselves as reached, and needs no order of the rows", () => {
    const rows = [all(40, [made(40, 38, 2000)], null), all(20, [made(20, 19, 2000)], null)];
    expect(findMaxBatches(rows)).toMatchObject([{ bySuccess: 40, byLatency: 40, perCore: null }]);
  });

  it("is a lower bound where no larger one was tried, and else names what failed at the next larger one", () => {
    const good = all(20, [made(20, 20, 1100)]);
    expect(findMaxBatches([good])).toMatchObject([{ bySuccess: 20, stop: null }]);
    const worse = [all(80, [made(80, 0, 1100)]), all(40, [made(40, 10, 1100)])];
    expect(findMaxBatches([good, ...worse])).toMatchObject([
      { bySuccess: 20, stop: { requests: 40, success_rate: 0.25, errors: "TIMEOUT:30" } },
    ]);
    // A batch that fails below one that succeeds does not bound it.
    expect(findMaxBatches([...worse.slice(1), all(80, [made(80, 80, 1100)])])).toMatchObject([
      { bySuccess: 80, stop: null },
    ]);
  });

  it("has the smallest and the largest of the single repetitions, and says how many there were", () => {
    const rep = (nth: number, requests: number, good: number) => ({
      ...all(requests, [made(requests, good, 1100)]),
      rep: nth,
    });
    const rows = [
      ...[rep(1, 20, 20), rep(2, 20, 20), rep(3, 20, 2), all(20, [made(60, 58, 1100)])],
      ...[rep(1, 40, 40), rep(2, 40, 10), rep(3, 40, 10), all(40, [made(120, 60, 1100)])],
    ];
    expect(findMaxBatches(rows)).toMatchObject([{ bySuccess: 20, least: 0, most: 40, repetitions: 3 }]);
    expect(findMaxBatches([all(20, [made(20, 20, 1100)])])).toMatchObject([
      { least: null, most: null, repetitions: 0 },
    ]);
  });

  it("is none where no batch succeeds, and looks at single repetitions not at all", () => {
    const single = { ...all(10, [made(10, 10, 1100)]), rep: 1 };
    expect(findMaxBatches([single, all(10, [made(10, 5, 1100)])])).toMatchObject([{ bySuccess: null, perCore: null }]);
  });
});

describe("the summary of a burst", () => {
  it("has percentiles of what succeeded, rates of the wall time and failures by type", () => {
    const rows = made(100, 90, 1100).rows.map((row, index) => ({ ...row, step_ms: row.success ? index + 1 : null }));
    expect(all(100, [{ rows }])).toMatchObject({
      made: 100,
      succeeded: 90,
      success_rate: 0.9,
      step_p50_ms: 45,
      step_p90_ms: 81,
      step_p99_ms: 90,
      requests_per_second: 45,
      effective_concurrency: 49.5,
      distinct_pids: 1,
      distinct_hosts: 0,
      errors: "TIMEOUT:10",
    });
  });

  it("has no latency where nothing succeeded", () => {
    expect(all(2, [made(2, 0, 5)])).toMatchObject({ succeeded: 0, total_p99_ms: null, requests_per_second: 0 });
  });
});
