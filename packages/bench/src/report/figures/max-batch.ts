import type { MaxBatch } from "../../burst/results/max-batch.js";
import { renderLargest } from "../stops.js";
import { type Bar, drawBars } from "./bars.js";
import { createFigure, type Figure, type FigureSetting, type Omitted } from "./figure.js";

const SPREAD = "Black line: the smallest and the largest repetition, if they differ.";
const OPEN = "≥ and an arrow: no larger batch was tried.";

export function drawMaxBatches(batches: readonly MaxBatch[], setting: FigureSetting): Figure | Omitted {
  const name = "max-batch";
  const title = "Largest batch with at least 95 % success";
  const bars = batches.map((batch) => toBar(batch, 1));
  if (areAlike(bars))
    return { name, title, reason: `it is ${bars[0]?.label ?? "unknown"} for every subject and wait.` };
  const text = { name, title, says: `${OPEN} ${SPREAD}` };
  return createFigure(text, setting, drawBars(bars, setting, { format: ",d" }));
}

export function drawBatchPerCore(batches: readonly MaxBatch[], setting: FigureSetting): Figure | Omitted {
  const name = "batch-per-core";
  const title = "Largest batch per core";
  const known = batches.filter(({ cores }) => cores !== null);
  const cores = new Set(known.map((batch) => batch.cores));
  if (cores.size === 0) return { name, title, reason: "the number of cores is unknown." };
  if (cores.size === 1) {
    return {
      name,
      title,
      reason: `every subject ran on ${[...cores][0]} cores, so it shows the same as the largest batch.`,
    };
  }
  const bars = known.map((batch) => toBar(batch, batch.cores ?? 1));
  if (areAlike(bars)) return { name, title, reason: `it is ${bars[0]?.label} for every subject and wait.` };
  const text = { name, title, says: `${OPEN} ${SPREAD}` };
  return createFigure(text, setting, drawBars(bars, setting, { format: ",~r" }));
}

function toBar(batch: MaxBatch, cores: number): Bar {
  const { subject, wait_seconds, bySuccess } = batch;
  const value = (bySuccess ?? 0) / cores;
  return {
    subject,
    wait_seconds,
    value,
    least: (batch.least ?? bySuccess ?? 0) / cores,
    most: (batch.most ?? bySuccess ?? 0) / cores,
    open: bySuccess !== null && batch.stop === null,
    label: renderLargest(batch, cores),
  };
}

function areAlike(bars: readonly Bar[]): boolean {
  return new Set(bars.map(({ value, least, most }) => JSON.stringify([value, least, most]))).size < 2;
}
