import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findMaxBatches, readResults, renderLargest, renderStop, repetitionsOf, spreadOf } from "@openenv-ts/bench";

const LIMITS = join(import.meta.dirname, "limits.md");

/** Renders DEPLOYMENTS.md: the results next to the numbers of the study, and the limit of each set-up. */
export function renderDeployments({ subjects, study }, results) {
  const measured = Object.entries(subjects).flatMap(([name, subject]) => {
    const dir = join(results, name);
    return existsSync(dir) ? [{ name, of: study.subjects[subject.study], ...read(dir) }] : [];
  });
  const machines = [...new Set(measured.flatMap(({ hardware }) => hardware))];
  return `# Deployments

- date: ${new Date().toISOString().slice(0, 10)}
- command: \`npm run bench -- deployments\`
- node: ${process.version}
- machine: ${machines.join("; ")}, shared by servers, balancer and load

The set-ups are those of [a published study](${study.source}) of the Python package (January 2026), as far as one machine
goes. Its numbers are next to ours to show the same tables, not for a competition: another client, other hardware, another
year. To be compared are the rows of one run: ours and the Python package's (\`python-…\`). What ran:
[deployments.json](../deployments/deployments.json); every burst, with pictures:
[results/deployments](../results/deployments/REPORT.md).

## Largest batch

The largest burst with at least 95 % success over all repetitions, with the 99th percentile of a whole request (from the
start of the burst, so it includes the delay of the client) and requests per second in that burst. ≥: no larger batch was
tried, so the limit is unknown. In parentheses: the smallest and the largest repetition. °: the client took more than a
tenth of a request's median to start all requests, or was that late to read responses, so the latencies include delays of
the client. The batches are the same for every set-up, plus its capacity if it has one. A set-up is measured up to the
first batch with less than 95 % success, each batch on new servers. The study times each request from its own start.

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
reset / step. Start is the delay of the client, from the start of the burst to the start of the connection.

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

/** The machine, and the largest batch of each wait. */
function read(dir) {
  const { bursts } = readResults([dir]);
  return { hardware: bursts.map(({ hardware }) => hardware), largest: findLargest(bursts) };
}

/** Adds the rows of that burst: all repetitions together, each repetition, and the first burst. */
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
