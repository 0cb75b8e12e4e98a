import { findMaxBatches, type NamedRow } from "../burst/results/max-batch.js";
import { repetitionsOf } from "../burst/results/repetitions.js";
import { drawBreakdown } from "./figures/breakdown.js";
import type { Figure, FigureSetting, Omitted } from "./figures/figure.js";
import { drawLatencies } from "./figures/latency.js";
import { drawLines } from "./figures/lines.js";
import { drawBatchPerCore, drawMaxBatches } from "./figures/max-batch.js";

export interface Figures {
  drawn: Figure[];
  /** Omitted pictures, whose data show nothing, with the reason. */
  omitted: Omitted[];
}

/** The pictures of a comparison. */
export function createFigures(rows: readonly NamedRow[]): Figures {
  const all = rows.filter(({ rep }) => rep === "all");
  if (all.length === 0) return { drawn: [], omitted: [] };
  const subjects = [...new Set(all.map(({ subject }) => subject))];
  const setting = { subjects, caption: `${renderMachines(all)} ${renderRepetitions(all, rows)}` };
  const batches = findMaxBatches(rows);
  const figures = [
    drawMaxBatches(batches, setting),
    drawBatchPerCore(batches, setting),
    drawLatencies(rows, setting),
    drawBreakdown(rows, setting),
    drawRates(all, rows, setting),
  ];
  return {
    drawn: figures.filter((figure) => "spec" in figure),
    omitted: figures.filter((figure) => "reason" in figure),
  };
}

const SPREAD = "Vertical lines: the smallest and the largest repetition.";

function drawRates(all: readonly NamedRow[], rows: readonly NamedRow[], setting: FigureSetting): Figure | Omitted {
  const title = "Requests per second against batch";
  const isLine = (wait: number): boolean =>
    new Set(all.filter(({ wait_seconds }) => wait_seconds === wait).map(({ requests }) => requests)).size > 1;
  const drawn = all.filter(({ wait_seconds }) => isLine(wait_seconds));
  if (new Set(drawn.map((row) => row.requests_per_second)).size < 2) {
    return { name: "scaling", title, reason: "no wait has two batches with different rates." };
  }
  return drawLines(
    {
      name: "scaling",
      title,
      says: SPREAD,
      value: (row) => row.requests_per_second,
      axis: { title: "requests/s", format: ",d", most: 1.05 * Math.max(...rows.map((row) => row.requests_per_second)) },
    },
    { all: drawn, rows },
    setting,
  );
}

/** The machines of the subjects, each once. */
function renderMachines(rows: readonly NamedRow[]): string {
  const machines = [...new Set(rows.map(({ hardware }) => hardware || "unknown"))];
  return `Machine: ${machines.join("; ")}.`;
}

function renderRepetitions(all: readonly NamedRow[], rows: readonly NamedRow[]): string {
  const counts = all.map((row) => repetitionsOf(row, rows).length);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (least !== most) return `${least} to ${most} repetitions of each burst.`;
  return least === 1 ? "One repetition of each burst, so no spread." : `${least} repetitions of each burst.`;
}
