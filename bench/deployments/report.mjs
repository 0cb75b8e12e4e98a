import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findMaxBatches, readResults } from "openenv-ts/bench";

const LIMITS = join(import.meta.dirname, "../experiments/deployments.md");

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
[experiments/deployments.json](experiments/deployments.json); every burst, with pictures:
[results/deployments](results/deployments/REPORT.md).

## Largest batch

The largest burst of which at least 95 % succeeded over all repetitions, with the 99th percentile of a whole request (from
the start of the burst, so what the client takes to start a request is in it) over all repetitions, of each of them, and
requests a second; in brackets the success when it was not all. ≥: no larger one was tried. Times: how often that burst
was made. °: the client took more than a tenth of a request's median to start all, or was as late to read answers, so the
latencies are partly its own. The study counts each request from its own start.

${table(
  [
    "set-up",
    "wait",
    "batch",
    "times",
    "batch : core",
    "p99",
    "p99 of each",
    "requests/s",
    "study",
    "batch : core",
    "p99",
    "requests/s",
  ],
  measured.flatMap(({ name, of, largest }) =>
    largest.map((row) => [name, ...renderLargest(row), ...renderStudy(of, row)]),
  ),
)}

## The first burst

A burst at servers that have just been started, beside the repetitions of the same burst after it: the 99th percentile of
a whole request, and how long the client took to start all.

${table(
  ["set-up", "wait", "batch", "first: p99", "started in", "after it: p99", "started in"],
  measured.flatMap(({ name, firsts }) =>
    firsts.map(({ first, later }) => [
      name,
      `${first.wait_seconds} s`,
      whole(first.requests),
      ...[first, later].flatMap((row) => [inSeconds(row.total_p99_ms), inSeconds(row.start_spread_ms)]),
    ]),
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

/** What it was measured on, the largest batch of each wait, and the first bursts. */
function read(dir) {
  const { bursts } = readResults([dir]);
  return { hardware: bursts.map(({ hardware }) => hardware), largest: findLargest(bursts), firsts: findFirsts(bursts) };
}

/** First bursts, each with the row of the repetitions after it. */
function findFirsts(bursts) {
  return bursts.flatMap((first) => {
    if (first.rep !== "first") return [];
    const { wait_seconds: wait, requests } = first;
    const later = bursts.find((row) => row.rep === "all" && row.wait_seconds === wait && row.requests === requests);
    return later === undefined ? [] : [{ first, later }];
  });
}

/** With the row of that burst, the p99 of each repetition, and whether a larger one was made. */
function findLargest(bursts) {
  const all = bursts.filter(({ rep }) => rep === "all");
  return findMaxBatches(all).map((batch) => {
    const same = bursts.filter(({ wait_seconds }) => wait_seconds === batch.wait_seconds);
    const made = same.filter(({ requests }) => requests === batch.bySuccess);
    return {
      ...batch,
      burst: made.find(({ rep }) => rep === "all"),
      each: made.filter(({ rep }) => typeof rep === "number").map((row) => row.total_p99_ms),
      isEnd: same.every(({ requests }) => requests <= batch.bySuccess),
    };
  });
}

function renderLargest({ wait_seconds, bySuccess, perCore, burst, each, isEnd }) {
  if (burst === undefined) return [`${wait_seconds} s`, "none", "–", "–", "–", "–", "–"];
  const success = burst.success_rate < 1 ? ` (${(100 * burst.success_rate).toFixed(1)} %)` : "";
  const core = perCore === null ? "–" : whole(Math.round(perCore));
  return [
    `${wait_seconds} s`,
    `${isEnd ? "≥ " : ""}${whole(bySuccess)}${success}`,
    each.length,
    core,
    `${inSeconds(burst.total_p99_ms)}${burst.client_limited ? " °" : ""}`,
    `${inSeconds(Math.min(...each))} to ${inSeconds(Math.max(...each))}`,
    whole(Math.round(burst.requests_per_second)),
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
