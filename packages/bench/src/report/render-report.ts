import { findMaxBatches } from "../burst/results/max-batch.js";
import type { Figures } from "./figures.js";
import { renderAtLargest, renderMaxBatches } from "./largest.js";
import type { Results } from "./read-results.js";
import { renderBreakdown, renderBursts, renderThroughput } from "./tables.js";

/** The comparison as Markdown, with the pictures that lie beside it in `figures`. */
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
          "The largest burst of which at least 95 % succeeded over all repetitions, and the largest of these whose total " +
            "p99 was at most twice the step time. ≥: no larger batch was tried, so the limit is not known. In brackets the " +
            "smallest and the largest of the single repetitions, where they differ. The last column says which failures " +
            "there were at the next larger batch.",
          renderMaxBatches(batches),
          figure("max-batch"),
          figure("batch-per-core"),
          "## At the largest batch",
          "Of all repetitions together, in brackets the smallest and the largest of the single repetitions. °: the client " +
            "was the limit.",
          renderAtLargest(batches, bursts),
          "## Every burst",
          "Each request is counted from the start of its burst, so what the client took to start it is in p50, p95 and p99: " +
            "`all started in` is when the last one was started (the longest, where several bursts are a row). `first` is " +
            "the first burst of a run at its server, cold when the server was started for the run; the other rows are " +
            "the repetitions after it together, with the lowest and the highest p99 of a single one. Latencies are those " +
            "of what succeeded. °: the client took more than a tenth of a request's median to start all, or was as late " +
            "to read answers, so these latencies are partly its own.",
          renderBursts(bursts),
          figure("success"),
          figure("latency-p99"),
          "## Where the time goes",
          "Start is the client's own: from the start of the burst to the start of the connection.",
          renderBreakdown(bursts),
          figure("breakdown"),
          "## Scaling",
          "Requests per second of wall time, from the start of a burst to its last answer.",
          figure("scaling"),
        ]),
    ...(throughput.length === 0
      ? []
      : [
          "## Steps in a closed loop",
          "Each session sends its next step when the last is answered. CPU-seconds are the server's, all its processes; " +
            "memory is the growth of its resident set while the sessions were opened. Of several runs it is the median, " +
            "in brackets the smallest and the largest.",
          renderThroughput(throughput),
        ]),
    renderOmitted(omitted),
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

/** The machine once where all ran on the same one. */
function renderFacts({ bursts, throughput }: Results): string {
  const machines = new Map([...bursts, ...throughput].map((row) => [row.subject, renderMachine(row)]));
  const [first, ...others] = new Set(machines.values());
  if (others.length === 0) return `- machine of every subject: ${first}`;
  return [...machines].map(([subject, machine]) => `- ${subject}: ${machine}`).join("\n");
}

function renderMachine({ hardware, cores }: { hardware: string; cores: number | null }): string {
  const known = [hardware, cores === null || hardware.includes(`${cores} core`) ? "" : `${cores} cores`];
  return known.filter(Boolean).join(", ") || "hardware not named";
}

function renderOmitted(omitted: Figures["omitted"]): string {
  if (omitted.length === 0) return "";
  const lines = omitted.map(({ title, reason }) => `- ${title}: ${reason}`);
  return ["## Pictures left out", "Their data would be a blank or a flat picture.", lines.join("\n")].join("\n\n");
}
