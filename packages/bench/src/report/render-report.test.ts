import { expect, it } from "vitest";
import { burstRow, repeated } from "../../../../test-support/deploy/burst-rows.js";
import type { NamedRow } from "../burst/results/max-batch.js";
import { createFigures } from "./figures.js";
import { renderScalingReport } from "./render-report.js";

function render(bursts: NamedRow[]): string {
  return renderScalingReport({ bursts, throughput: [] }, createFigures(bursts));
}

it("reports for each subject why it stopped, and marks a batch without a limit as a lower bound", () => {
  const failed = (subject: string, success_rate: number, errors: string) => [
    burstRow({ subject, requests: 32 }),
    burstRow({ subject, requests: 2048, success_rate, errors }),
  ];
  const text = render([
    burstRow({ subject: "node", requests: 16_384 }),
    ...failed("full", 0.1, "CAPACITY_REACHED:1800 TIMEOUT:43"),
    ...failed("slow", 0.7, "TIMEOUT:614"),
    ...failed("reset", 0.9, "UPGRADE_503:200 CONNECTION_RESET:5"),
    burstRow({ subject: "broken", requests: 32, success_rate: 0, errors: "CLOSED_1011:32", total_p99_ms: null }),
  ]);
  const stops = text.matchAll(/^\| (\w+) \| 1 s \| ([^|]+) \| [^|]+ \| \d+ \| (.+) \|$/gm);
  expect([...stops].map(([, ...cells]) => cells)).toEqual([
    ["node", "≥ 16,384", "end of the grid: no larger batch was tried"],
    ["full", "32", "capacity of the server: 10.0 % at 2,048 (1,800 CAPACITY_REACHED, 43 TIMEOUT)"],
    ["slow", "32", "time limit of a request: 70.0 % at 2,048 (614 TIMEOUT)"],
    ["reset", "32", "failures: 90.0 % at 2,048 (200 UPGRADE_503, 5 CONNECTION_RESET)"],
    ["broken", "none", "failures: 0.0 % at 32 (32 CLOSED_1011)"],
  ]);
});

it("has the spread of the repetitions in the tables, and the batch per core", () => {
  const text = render(
    repeated({ subject: "node", requests: 64, total_p99_ms: 1500, requests_per_second: 50 }, [
      { total_p99_ms: 1400, requests_per_second: 40 },
      { total_p99_ms: 1450 },
      { total_p99_ms: 1600, success_rate: 0.5 },
    ]),
  );
  expect(text).toContain("| node | 1 s | ≥ 64 (0–64) | 64 | 3 | end of the grid");
  expect(text).toContain("| node | 1 s | ≥ 64 | ≥ 32 | 1.5 s (1.4 s–1.6 s) | 50 (40–50) |");
});

it("names the machine, once if all subjects ran on the same one", () => {
  const rows = [burstRow({ subject: "a", requests: 1 }), burstRow({ subject: "b", requests: 2 })];
  expect(render(rows)).toContain("- machine of every subject: 2 cores, Example Processor 9000\n");
  const others = [...rows, burstRow({ subject: "c", requests: 2, hardware: "", cores: 8 })];
  expect(render(others)).toContain("- b: 2 cores, Example Processor 9000\n- c: 8 cores\n");
});

it("shows the drawn pictures and the reasons of the omitted ones", () => {
  const rows = [burstRow({ subject: "a", requests: 1 }), burstRow({ subject: "b", requests: 2 })];
  const text = render(rows);
  expect(text).toContain("![Largest batch with at least 95 % success](figures/max-batch.svg)");

  expect(text).toContain("- Total p99 of a request: it is");
});

it("has the median and the spread of repeated closed loops", () => {
  const loop = (steps_per_second: number, bytes_per_session: number | null, error_type: string | null = null) => ({
    think_seconds: null,
    ...{ subject: "node", url: "", hardware: "", cores: null, connections: 256, seconds: 1, steps: 1 },
    ...{ steps_per_second, p50_ms: 10, p90_ms: 10, p95_ms: 10, p99_ms: 20, server_processes: 1, server_cpu_seconds: 1 },
    ...{
      steps_per_cpu_second: null,
      bytes_per_session,
      client_busy: 0,
      client_limited: false,
      error_type,
      error: null,
    },
  });
  const thinking = { ...loop(25, 6000), think_seconds: 10 };
  const throughput = [loop(900, 6000), loop(1000, null), loop(1400, 7000), loop(0, null, "TIMEOUT"), thinking];
  const report = renderScalingReport({ bursts: [], throughput }, { drawn: [], omitted: [] });
  expect(report).toContain("| node | 256, think 10 s | 1 | 25 |");
  expect(report).toContain(
    "| node | 256 | 3 | 1,000 (900–1,400) | 10 ms (10 ms–10 ms) | 20 ms (20 ms–20 ms) | – | 6.5 kB (6.0 kB–7.0 kB) | TIMEOUT |",
  );
});
