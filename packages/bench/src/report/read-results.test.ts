import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ConfigError } from "../../../openenv/src/errors.js";
import { openResultFiles } from "../burst/results/result-files.js";
import { summarise } from "../burst/results/summary.js";
import type { ThroughputRow } from "../burst/results/throughput.js";
import type { RequestRow } from "../burst/types.js";
import { readResults } from "./read-results.js";

const subject = { url: "http://127.0.0.1:8000", mode: "ws", hardware: "2 cores", cores: 2 } as const;
const request: RequestRow = {
  ...{ start_ms: 1, connect_ms: 2, reset_ms: 3, step_ms: 4, total_ms: 10 },
  ...{ pid: 7, session_hash: "a", host_url: "here", same_session: true },
  ...{ success: true, error_type: null, error: null },
};
const client = { lagMs: 0, busy: 0.1, cpuSeconds: 1 };
const loop: ThroughputRow = {
  ...{ url: subject.url, hardware: subject.hardware, cores: subject.cores, connections: 1, seconds: 2, steps: 100 },
  think_seconds: null,
  ...{ steps_per_second: 50, p50_ms: 1, p90_ms: 2, p95_ms: 2, p99_ms: 3, server_processes: 1 },
  ...{ server_cpu_seconds: 0.5, steps_per_cpu_second: 200, bytes_per_session: 4000 },
  ...{ client_busy: 0.5, client_limited: false, error_type: null, error: null },
};
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "openenv-results-"));
  const result = { began: 0, rows: [request], wallSeconds: 0.01, client };
  const rows = (["first", 1, "all"] as const).map((rep) =>
    summarise(subject, { requests: 1, wait_seconds: 0, rep }, [result]),
  );
  openResultFiles(dir, "bursts").writeSummary(rows);
  openResultFiles(dir, "throughput").writeThroughput([loop]);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Writes a value into a column of the first row. */
async function set(file: string, column: string, value: string): Promise<void> {
  const path = join(dir, file);
  const [head = "", first = "", ...rest] = (await readFile(path, "utf8")).split("\n");
  const cells = first.match(/(?:"[^"]*"|[^,]*)(?=,|$)(?:,|$)/g)?.map((cell) => cell.replace(/,$/, "")) ?? [];
  cells[head.split(",").indexOf(column)] = value;
  await writeFile(path, [head, cells.slice(0, head.split(",").length).join(","), ...rest].join("\n"));
}

test("results of a benchmark are read", () => {
  const { bursts, throughput } = readResults([dir]);
  expect(bursts.map(({ rep }) => rep)).toEqual(["first", 1, "all"]);
  expect(throughput[0]).toMatchObject({ error: null, error_type: null, connections: 1 });
});

test.each([
  ["summary.csv", "requests_per_second", "1e999", "is Infinity"],
  ["summary.csv", "total_p99_ms", "-1e999", "is -Infinity"],
  ["summary.csv", "total_p99_ms", "soon", "is soon"],
  ["summary.csv", "requests", "1e300", "is 1e+300"],
  ["summary.csv", "requests", "", "is empty"],
  ["summary.csv", "cores", "0", "is 0"],
  ["summary.csv", "rep", "1e999", "is 1e999"],
  ["summary.csv", "success_rate", "2", "is 2"],
  ["summary.csv", "client_limited", "maybe", "is maybe"],
  ["throughput.csv", "steps_per_second", "1e999", "is Infinity"],
  ["throughput.csv", "bytes_per_session", "NaN", "is NaN"],
  ["throughput.csv", "p50_ms", "-3", "is -3"],
])("in %s, %s of %j is an error that names file and field", async (file, column, value, said) => {
  await set(file, column, value);
  const reading = (): unknown => readResults([dir]);
  expect(reading).toThrow(ConfigError);
  expect(reading).toThrow(`${join(dir, file)}: the field ${column} of row 1 ${said} (`);
});

test("the error for a missing column names it", async () => {
  await writeFile(join(dir, "throughput.csv"), "url,hardware,cores\nhttp://127.0.0.1,none,1\n");
  expect(() => readResults([dir])).toThrow("the field client_busy of row 1 is missing (");
});
