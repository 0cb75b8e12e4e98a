import { findMaxBatches, type NamedRow } from "../../burst/results/max-batch.js";
import { repetitionsOf, spreadOf } from "../../burst/results/repetitions.js";
import { seconds, whole } from "../tables.js";
import { type Bar, drawBars } from "./bars.js";
import { createFigure, type Figure, type FigureSetting, type Omitted } from "./figure.js";

const PARTS = ["start", "connect", "reset", "step"] as const;
const STEP = "step beyond its wait";

/** The time of each stage at the largest batch of each subject, without the wait, which is the same for all. */
export function drawBreakdown(rows: readonly NamedRow[], setting: FigureSetting): Figure | Omitted {
  const title = "Where the time goes beyond the wait, at the largest batch";
  const largest = findMaxBatches(rows).flatMap(({ subject, wait_seconds, bySuccess }) =>
    rows.filter(
      (row) =>
        row.rep === "all" && row.subject === subject && row.wait_seconds === wait_seconds && row.requests === bySuccess,
    ),
  );
  const bars = largest.map((row) => toBar(row, rows));
  if (new Set(bars.map(({ value }) => value)).size < 2) {
    const [bar] = bars;
    const reason = bar ? `it is ${seconds(bar.value * 1000)} at every largest batch.` : "no burst has 95 % success.";
    return { name: "breakdown", title, reason };
  }
  const parts = largest.flatMap((row) =>
    PARTS.map((part, order) => ({
      subject: row.subject,
      wait_seconds: row.wait_seconds,
      part: part === "step" ? STEP : part,
      order,
      value: partOf(row, part),
    })),
  );
  const says =
    "Medians of start (delay of the client), connect, reset and step. Black line: the smallest and the largest sum of a repetition.";
  const names = PARTS.map((part) => (part === "step" ? STEP : part));
  return createFigure(
    { name: "breakdown", title, says },
    setting,
    drawBars(bars, setting, { format: "~r", unit: "seconds", parts: { rows: parts, names } }),
  );
}

function toBar(row: NamedRow, rows: readonly NamedRow[]): Bar {
  const value = sumOf(row);
  const { subject, wait_seconds, requests } = row;
  const spread = spreadOf(repetitionsOf(row, rows), sumOf) ?? { least: value, most: value };
  const label = `${seconds(value * 1000)} at ${whole(requests)}`;
  return { subject, wait_seconds, value, ...spread, open: false, label };
}

function sumOf(row: NamedRow): number {
  return PARTS.reduce((sum, part) => sum + partOf(row, part), 0);
}

/** Value in seconds. */
function partOf(row: NamedRow, part: (typeof PARTS)[number]): number {
  const took = (row[`${part}_p50_ms`] ?? 0) / 1000;
  return part === "step" ? Math.max(0, took - row.wait_seconds) : took;
}
