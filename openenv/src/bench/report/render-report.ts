import { findMaxBatches } from "../burst/max-batch.js";
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
            "memory is the growth of its resident set while the sessions were opened.",
          renderThroughput(throughput),
        ]),
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
