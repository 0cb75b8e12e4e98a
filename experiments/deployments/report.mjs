import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findMaxBatches, readResults, renderLargest, renderStop, repetitionsOf, spreadOf } from "@openenv-ts/bench";

const LIMITS = join(import.meta.dirname, "../cases/deployments.md");

/** DEPLOYMENTS.md: what was measured beside the study's own numbers, and what limits each set-up. */
export function renderDeployments({ subjects, study }, results) {
  const measured = Object.entries(subjects).flatMap(([name, subject]) => {
    const dir = join(results, name);
    return existsSync(dir) ? [{ name, of: study.subjects[subject.study], ...read(dir) }] : [];
  });
  const machines = [...new Set(measured.flatMap(({ hardware }) => hardware))];
  return `# Deployments

- date: ${new Date().toISOString().slice(0, 10)}
- command: \`npm run bench:deployments\`
- node: ${process.version}
- machine: ${machines.join("; ")}, shared; servers, balancer and load on it together

The set-ups are those of [a published study](${study.source}) of the Python package (January 2026), as far as one machine
goes. Its numbers stand beside ours to show the same tables, not to win against: another client, other hardware, another
year. To be compared are the rows of one run: ours and the Python package's (\`python-…\`). What ran:
[cases/deployments.json](cases/deployments.json); every burst, with pictures:
[results/deployments](results/deployments/REPORT.md).

## Largest batch

The largest burst of which at least 95 % succeeded over all repetitions, with the 99th percentile of a whole request (from
the start of the burst, so what the client takes to start a request is in it) and requests a second in that burst. ≥: no
larger batch was tried, so the limit is not known. In brackets: the smallest and the largest of the single repetitions. °:
the client took more than a tenth of a request's median to start all, or was as late to read answers, so the latencies are
partly its own. The batches are the same for every set-up, and the capacity of those that have one; a set-up is measured
up to the first batch of which fewer than 95 % succeeded, each batch on servers of its own. The study counts each request
from its own start.

${table(
  [
    "set-up",
    "wait",
    "batch",
    "repetitions",
    "batch : core",
    "p99",
    "requests/s",
    "stopped by",
    "study",
    "batch : core",
    "p99",
    "requests/s",
  ],
  measured.flatMap(({ name, of, largest }) =>
    largest.map((row) => [name, ...renderBatch(row), ...renderStudy(of, row)]),
  ),
)}

## The first burst

The first burst of the largest batch, on servers that have just been started, and the repetitions that follow it: the
99th percentile of a whole request, and how long the client took to start all requests.

${table(
  ["set-up", "wait", "batch", "first: p99", "started in", "after it: p99", "started in"],
  measured.flatMap(({ name, largest }) =>
    largest.flatMap(({ first, burst }) => {
      if (first === undefined) return [];
      const times = [first, burst].flatMap((row) => [inSeconds(row.total_p99_ms), inSeconds(row.start_spread_ms)]);
      return [[name, `${first.wait_seconds} s`, whole(first.requests), ...times]];
    }),
  ),
)}

## Where the time goes

Medians at the largest batch with a wait of one second, in seconds: start / connect / reset / step, of the study connect /
reset / step. Start is the client's own: from the start of the burst to the start of the connection.

${table(
  ["set-up", "batch", "measured", "study's batch", "study"],
  measured.flatMap(({ name, of, largest }) => {
    const row = largest.find(({ wait_seconds }) => wait_seconds === 1);
    if (row?.burst === undefined) return [];
    const parts = ["start", "connect", "reset", "step"].map((part) => row.burst[`${part}_p50_ms`] / 1000);
    return [[name, whole(row.burst.requests), parts.map(three).join(" / "), ...renderBreakdown(of)]];
  }),
)}

${readFileSync(LIMITS, "utf8")}`;
}

/** What it was measured on, and the largest batch of each wait. */
function read(dir) {
  const { bursts } = readResults([dir]);
  return { hardware: bursts.map(({ hardware }) => hardware), largest: findLargest(bursts) };
}

/** With the rows of that burst: over all repetitions, of the single ones, and of the first. */
function findLargest(bursts) {
  return findMaxBatches(bursts).map((batch) => {
    const same = bursts.filter(
      ({ wait_seconds, requests }) => wait_seconds === batch.wait_seconds && requests === batch.bySuccess,
    );
    const [burst, first] = ["all", "first"].map((rep) => same.find((row) => row.rep === rep));
    return { ...batch, burst, first, single: burst ? repetitionsOf(burst, bursts) : [] };
  });
}

function renderBatch({ burst, first: _, single, ...batch }) {
  const wait = `${batch.wait_seconds} s`;
  if (burst === undefined) return [wait, renderLargest(batch), batch.repetitions, "–", "–", "–", renderStop(batch)];
  const spread = (value, render) => {
    const range = single.length < 2 ? null : spreadOf(single, value);
    return `${render(value(burst))}${range === null ? "" : ` (${render(range.least)}–${render(range.most)})`}`;
  };
  return [
    wait,
    renderLargest(batch),
    batch.repetitions,
    batch.cores === null ? "–" : renderLargest({ ...batch, least: null, most: null }, batch.cores),
    `${spread((row) => row.total_p99_ms / 1000, three)} s${burst.client_limited ? " °" : ""}`,
    spread(
      (row) => row.requests_per_second,
      (rate) => whole(Math.round(rate)),
    ),
    renderStop(batch),
  ];
}

function renderStudy(of, { wait_seconds }) {
  if (of === undefined) return ["–", "–", "–", "–"];
  const batch = of.batch[wait_seconds];
  return [whole(batch), three(batch / of.cores), `${three(of.p99[wait_seconds])} s`, three(of.rate[wait_seconds])];
}

function renderBreakdown(of) {
  return of === undefined ? ["–", "–"] : [whole(of.batch["1"]), of.breakdown.map(three).join(" / ")];
}

function table(head, rows) {
  const line = head.map((_, column) => (column === 0 ? "---" : "--:"));
  return [head, line, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function whole(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

function inSeconds(milliseconds) {
  return milliseconds === null ? "–" : `${three(milliseconds / 1000)} s`;
}

function three(value) {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
