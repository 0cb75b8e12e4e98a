import { findMaxBatches, type NamedRow } from "../burst/max-batch.js";
import type { Results } from "./read-results.js";
import { renderBatchPerCore, renderBreakdown, renderBursts, renderMaxBatches, renderThroughput } from "./tables.js";

/** The comparison as Markdown; `figures` are the names of the pictures beside it, without their ending. */
export function renderScalingReport({ bursts, throughput }: Results, figures: ReadonlyMap<string, string>): string {
  const all = bursts.filter(({ rep }) => rep === "all");
  const batches = findMaxBatches(all);
  const figure = (name: string): string => {
    const title = figures.get(name);
    return title === undefined ? "" : `![${title}](figures/${name}.svg)`;
  };
  const sections = [
    "# How many sessions, how fast",
    renderFacts({ bursts, throughput }),
    ...(all.length === 0
      ? []
      : [
          "## Largest batch",
          "The largest burst of which at least 95 % succeeded over all repetitions; in brackets the largest whose total " +
            "p99 was also at most twice the step time.",
          renderMaxBatches(batches),
          figure("max-batch"),
          "## Batch per core",
          renderBatchPerCore(batches),
          figure("batch-per-core"),
          "## Every burst",
          "All repetitions together. Total is connect, reset and step of what succeeded.",
          renderBursts(all),
          figure("success"),
          figure("latency-p99"),
          "## Where the time goes",
          renderBreakdown(all),
          figure("breakdown"),
          "## Scaling",
          "Requests per second of wall time, from the first start to the last answer.",
          figure("scaling"),
        ]),
    ...(throughput.length === 0
      ? []
      : [
          "## Steps in a closed loop",
          "Each session sends its next step when the last is answered. CPU-seconds are the server's, all its processes; " +
            "memory is the growth of its resident set while the sessions were opened.",
          renderThroughput(throughput),
        ]),
    renderLimits(all),
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

function renderFacts({ bursts, throughput }: Results): string {
  const facts = new Map([...bursts, ...throughput].map((row) => [row.subject, row]));
  return [...facts.values()]
    .map(({ subject, hardware, cores }) => {
      const known = [hardware, cores === null || hardware.includes(`${cores} core`) ? "" : `${cores} cores`];
      return `- ${subject}: ${known.filter(Boolean).join(", ") || "hardware not named"}`;
    })
    .join("\n");
}

function renderLimits(rows: readonly NamedRow[]): string {
  const limited = rows.filter(({ client_limited }) => client_limited);
  if (limited.length === 0) return "";
  const names = limited.map(({ subject, requests, wait_seconds }) => `${subject} ${requests} at ${wait_seconds} s`);
  return `The client was the limit in ${names.join("; ")}: these latencies are partly its own.`;
}
