import { expect, it } from "vitest";
import type { ThroughputRow } from "../burst/results/throughput.js";
import { renderSizing } from "./sizing.js";

const HEAP = 4_000 * 2 ** 20;
const row: ThroughputRow = {
  ...{ url: "http://127.0.0.1:8000", hardware: "2 cores", cores: 2, connections: 140, seconds: 60, think_seconds: 10 },
  ...{ steps: 840, steps_per_second: 14, p50_ms: 1, p90_ms: 2, p95_ms: 2, p99_ms: 3, server_processes: 2 },
  ...{ server_cpu_seconds: 8.3, steps_per_cpu_second: 100, bytes_per_session: 5_000_000 },
  ...{ client_busy: 0.1, client_limited: false, error_type: null, error: null },
};
const settings = (changes: Partial<ThroughputRow>): string[] =>
  renderSizing({ ...row, ...changes }, HEAP).match(/[A-Z_]+=\d+/g) ?? [];

it("names the sessions that a core carries and that a heap holds, and the smaller one as the capacity", () => {
  // 8.3 s of 60 s for 140 sessions: 0.099 % of a core each, 708 at 70 %. 80 % of the heap holds 671.
  const text = renderSizing(row, HEAP);
  expect(text).toContain("at most 5 MB of memory and 0.099 % of a core");
  expect(text).toContain("A core carries about 700");
  expect(text).toContain("4,000 MB, holds about 670");
  expect(settings({})).toEqual(["MAX_CONCURRENT_ENVS=670", "MAX_CONCURRENT_ENVS=700", "HEAP_MB=4200"]);
});

it("recommends no larger heap where the core is the limit", () => {
  expect(settings({ bytes_per_session: 100_000 })).toEqual(["MAX_CONCURRENT_ENVS=700"]);
  expect(settings({ bytes_per_session: null })).toEqual(["MAX_CONCURRENT_ENVS=700"]);
});

it("assumes no less memory than the noise of the process", () => {
  expect(renderSizing({ ...row, bytes_per_session: null }, HEAP)).toContain("at most 0.057 MB of memory");
  expect(renderSizing({ ...row, bytes_per_session: 900 }, HEAP)).toContain("at most 0.057 MB of memory");
  expect(renderSizing({ ...row, connections: 4 }, HEAP)).not.toContain("memory");
});

it("recommends nothing where nothing was measured", () => {
  expect(settings({ server_processes: 0, bytes_per_session: null, server_cpu_seconds: null })).toEqual([]);
  expect(settings({ error_type: "CAPACITY_REACHED" })).toEqual([]);
});
