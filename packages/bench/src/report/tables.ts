import type { NamedRow } from "../burst/results/max-batch.js";
import { groupBy, repetitionsOf, spreadOf } from "../burst/results/repetitions.js";
import type { ThroughputRow } from "../burst/results/throughput.js";
import { medianOf } from "../matrix.js";

export type NamedThroughput = ThroughputRow & { subject: string };

/** Every batch: the first burst of a run, and all repetitions together, with the best and the worst p99. */
export function renderBursts(rows: readonly NamedRow[]): string {
  const latencies = ["p50", "p95", "p99", "p99 of each burst"];
  const head = [...BURST_HEAD, "success", "all started in", ...latencies, "requests/s", "at a time", "failures"];
  return renderMarkdown(
    head,
    ordered(rows).map((row) => [
      ...burstCells(row, rows),
      percent(row.success_rate),
      seconds(row.start_spread_ms),
      ...([50, 95] as const).map((p) => seconds(row[`total_p${p}_ms`])),
      `${seconds(row.total_p99_ms)}${row.client_limited ? " °" : ""}`,
      row.rep === "first" ? "–" : renderRange(repetitionsOf(row, rows)),
      whole(Math.round(row.requests_per_second)),
      whole(Math.round(row.effective_concurrency)),
      row.errors || "–",
    ]),
  );
}

/** The stages of a request, median and 99th percentile. */
export function renderBreakdown(rows: readonly NamedRow[]): string {
  const parts = ["start", "connect", "reset", "step"] as const;
  return renderMarkdown(
    [...BURST_HEAD, ...parts.map((part) => `${part} p50 / p99`)],
    ordered(rows).map((row) => [
      ...burstCells(row, rows),
      ...parts.map((part) => `${seconds(row[`${part}_p50_ms`])} / ${seconds(row[`${part}_p99_ms`])}`),
    ]),
  );
}

const BURST_HEAD = ["subject", "wait", "batch", "bursts"];

function burstCells(row: NamedRow, rows: readonly NamedRow[]): string[] {
  const bursts = row.rep === "first" ? "first" : String(repetitionsOf(row, rows).length);
  return [row.subject, seconds(row.wait_seconds * 1000), whole(row.requests), bursts];
}

/** Sorted by subject, wait and batch; the first burst of a run before the row of the repetitions. */
function ordered(rows: readonly NamedRow[]): NamedRow[] {
  const subjects = [...new Set(rows.map(({ subject }) => subject))];
  return rows
    .filter(({ rep }) => rep === "first" || rep === "all")
    .toSorted(
      (a, b) =>
        subjects.indexOf(a.subject) - subjects.indexOf(b.subject) ||
        a.wait_seconds - b.wait_seconds ||
        a.requests - b.requests ||
        Number(a.rep === "all") - Number(b.rep === "all"),
    );
}

function renderRange(rows: readonly NamedRow[]): string {
  const all = rows.flatMap(({ total_p99_ms }) => total_p99_ms ?? []);
  return all.length < 2 ? "–" : `${seconds(Math.min(...all))} to ${seconds(Math.max(...all))}`;
}

/** Closed loops and sessions that think, with equal settings in one row; a dash for values that could not be measured. */
export function renderThroughput(rows: readonly NamedThroughput[]): string {
  const head = ["subject", "sessions", "runs", "steps/s", "p50", "p99", "steps/CPU-second", "memory/session", ""];
  const groups = groupBy(rows, ({ subject, connections, think_seconds }) =>
    JSON.stringify([subject, connections, think_seconds]),
  );
  return renderMarkdown(
    head,
    groups.map((group) => {
      const good = group.filter(({ error_type }) => error_type === null);
      const limit = good.some(({ client_limited }) => client_limited) ? "client was the limit" : "";
      return [
        group[0]?.subject ?? "",
        renderSessions(group[0]),
        whole(good.length),
        renderRuns(good, (row) => row.steps_per_second, rounded),
        renderRuns(good, (row) => row.p50_ms, seconds),
        renderRuns(good, (row) => row.p99_ms, seconds),
        renderRuns(good, (row) => row.steps_per_cpu_second, rounded),
        renderRuns(
          good,
          (row) => row.bytes_per_session,
          (bytes) => `${(bytes / 1000).toFixed(1)} kB`,
        ),
        [...new Set(group.flatMap(({ error_type }) => error_type ?? [])), limit].filter(Boolean).join(", "),
      ];
    }),
  );
}

function renderSessions(row: NamedThroughput | undefined): string {
  const sessions = whole(row?.connections ?? 0);
  return row?.think_seconds == null ? sessions : `${sessions}, think ${seconds(row.think_seconds * 1000)}`;
}

/** The median, and for several runs the minimum and maximum. */
function renderRuns<T>(
  rows: readonly T[],
  value: (row: T) => number | null,
  render: (value: number) => string,
): string {
  const middle = medianOf({ runs: rows.map(value) }, "runs");
  const spread = spreadOf(rows, value);
  if (middle === undefined || spread === null) return "–";
  return rows.length === 1 ? render(middle) : `${render(middle)} (${render(spread.least)}–${render(spread.most)})`;
}

/** Milliseconds in a readable unit. */
export function seconds(milliseconds: number | null): string {
  if (milliseconds === null) return "–";
  if (milliseconds >= 10_000) return `${Number((milliseconds / 1000).toFixed(1))} s`;
  if (milliseconds >= 1000) return `${Number((milliseconds / 1000).toFixed(2))} s`;
  if (milliseconds >= 10 || milliseconds === 0) return `${Math.round(milliseconds)} ms`;
  return `${milliseconds.toPrecision(2)} ms`;
}

/** The first column is text, the others are numbers. */
export function renderMarkdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const right = head.map((_, column) => (column === 0 ? "---" : "--:"));
  return [head, right, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function rounded(value: number): string {
  return whole(Math.round(value));
}

export function whole(value: number): string {
  return value.toLocaleString("en-US");
}

function percent(part: number): string {
  return `${(part * 100).toFixed(1)} %`;
}
