import { findMaxBatches } from "../burst/results/max-batch.js";
import type { Figures } from "./figures.js";
import { renderAtLargest, renderMaxBatches } from "./largest.js";
import type { Results } from "./read-results.js";
import { renderBreakdown, renderBursts, renderThroughput } from "./tables.js";

/** The comparison as Markdown, with the pictures in the folder `figures` next to it. */
export function renderScalingReport({ bursts, throughput }: Results, { drawn, omitted }: Figures): string {
  const all = bursts.filter(({ rep }) => rep === "all");
  const batches = findMaxBatches(bursts);
  const figure = (name: string): string => {
    const found = drawn.find((one) => one.name === name);
    return found === undefined ? "" : `![${found.title}](figures/${name}.svg)`;
  };
  const sections = [
    "# How many sessions, how fast",
    renderFacts({ bursts, throughput }),
    ...(all.length === 0
      ? []
      : [
          "## Largest batch",
          "The largest burst with at least 95 % success over all repetitions, and the largest of these whose total " +
            "p99 was at most twice the step time. ≥: no larger batch was tried, so the limit is unknown. In parentheses: the " +
            "smallest and the largest repetition, if they differ. The last column shows the failures " +
            "at the next larger batch.",
          renderMaxBatches(batches),
          figure("max-batch"),
          figure("batch-per-core"),
          "## At the largest batch",
          "All repetitions together; in parentheses the smallest and the largest repetition. °: the client " +
            "was the limit.",
          renderAtLargest(batches, bursts),
          "## Every burst",
          "Each request is timed from the start of its burst, so p50, p95 and p99 include the delay of the client: " +
            "`all started in` is the time until the last one was started (the longest when a row has several bursts). `first` is " +
            "the first burst of a run, cold when the server was started for the run; the other rows are " +
            "all later repetitions together, with the lowest and the highest p99 of a repetition. Latencies are those " +
            "of successful requests. °: the client took more than a tenth of a request's median to start all requests, or was " +
            "that late to read responses, so these latencies include delays of the client.",
          renderBursts(bursts),
          figure("success"),
          figure("latency-p99"),
          "## Where the time goes",
          "Start is the delay of the client, from the start of the burst to the start of the connection.",
          renderBreakdown(bursts),
          figure("breakdown"),
          "## Scaling",
          "Requests per second of wall time, from the start of a burst to its last response.",
          figure("scaling"),
        ]),
    ...(throughput.length === 0
      ? []
      : [
          "## Steps in a closed loop",
          "Each session sends its next step when the last one is answered. CPU-seconds are those of all server processes; " +
            "memory is the growth of their resident set while the sessions were opened. For several runs: the median, " +
            "in parentheses the smallest and the largest.",
          renderThroughput(throughput),
        ]),
    renderOmitted(omitted),
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

/** The machine, once if all subjects ran on the same one. */
function renderFacts({ bursts, throughput }: Results): string {
  const machines = new Map([...bursts, ...throughput].map((row) => [row.subject, renderMachine(row)]));
  const [first, ...others] = new Set(machines.values());
  if (others.length === 0) return `- machine of every subject: ${first}`;
  return [...machines].map(([subject, machine]) => `- ${subject}: ${machine}`).join("\n");
}

function renderMachine({ hardware, cores }: { hardware: string; cores: number | null }): string {
  const known = [hardware, cores === null || hardware.includes(`${cores} core`) ? "" : `${cores} cores`];
  return known.filter(Boolean).join(", ") || "hardware unknown";
}

function renderOmitted(omitted: Figures["omitted"]): string {
  if (omitted.length === 0) return "";
  const lines = omitted.map(({ title, reason }) => `- ${title}: ${reason}`);
  return ["## Omitted pictures", "These pictures would be blank or flat.", lines.join("\n")].join("\n\n");
}
