import type { NamedRow } from "../../burst/results/max-batch.js";
import { repetitionsOf, spreadOf } from "../../burst/results/repetitions.js";
import { colourOf, createFigure, drawPanels, type Figure, type FigureSetting, shapeOf, widthOf } from "./figure.js";

interface Lines {
  name: string;
  title: string;
  says: string;
  value: (row: NamedRow) => number;
  /** The axis of the values: title, number format, and the maximum, which all panels share. */
  axis: { title: string; format: string; most: number };
}

const WIDTH = 440;
const HEIGHT = 260;
const COLUMNS = 2;
/** The fraction of the distance between a batch and its double over which the subjects are spread. */
const DODGE = 0.4;
const TICK_GAP = 10;

/**
 * One line per subject over the batch, one panel per wait. `all` are the rows to draw, `rows` has their repetitions.
 */
export function drawLines(
  { name, title, says, value, axis }: Lines,
  { all, rows }: { all: readonly NamedRow[]; rows: readonly NamedRow[] },
  setting: FigureSetting,
): Figure {
  const batches = [...new Set(all.map(({ requests }) => requests))].toSorted((a, b) => a - b);
  const domain = [(batches[0] ?? 1) / 1.4, (batches.at(-1) ?? 1) * 1.4] as const;
  const drawn = setting.subjects.filter((subject) => all.some((row) => row.subject === subject));
  const values = all.map((row) => ({
    ...row,
    value: value(row),
    ...(spreadOf(repetitionsOf(row, rows), value) ?? { least: value(row), most: value(row) }),
    // Offset horizontally, because overlapping lines hide each other.
    at: row.requests * 2 ** (DODGE * ((drawn.indexOf(row.subject) + 0.5) / drawn.length - 0.5)),
  }));
  const x = {
    field: "at",
    type: "quantitative",
    title: "batch",
    scale: { type: "log", base: 2, domain, nice: false },
    axis: { values: chooseTicks(batches, domain), format: ",d" },
  };
  const { title: label, format, most } = axis;
  const scale = { domain: [0, most], nice: false };
  const y = { field: "value", type: "quantitative", title: label, axis: { format }, scale };
  const legend = { orient: "bottom", columns: countColumns(drawn), values: drawn };
  const color = colourOf(setting, legend);
  const layer = [
    { mark: { type: "line", strokeWidth: 1.5 }, encoding: { y, color } },
    {
      mark: { type: "rule", strokeWidth: 1.5 },
      encoding: { y: { ...y, field: "least" }, y2: { field: "most" }, color },
    },
    {
      mark: { type: "point", filled: true, size: 45, opacity: 1 },
      encoding: { y, color, shape: shapeOf(setting, legend) },
    },
  ];
  return createFigure({ name, title, says }, setting, {
    data: { values },
    ...drawPanels(all, { columns: COLUMNS, panel: { width: WIDTH, height: HEIGHT, encoding: { x }, layer } }),
  });
}

/** As many batch labels as fit, largest first. */
function chooseTicks(batches: readonly number[], [first, last]: readonly [number, number]): number[] {
  const position = (batch: number): number => (WIDTH * Math.log(batch / first)) / Math.log(last / first);
  let free = Number.POSITIVE_INFINITY;
  return batches.toReversed().filter((batch) => {
    const half = (widthOf(batch.toLocaleString("en-US")) + TICK_GAP) / 2;
    if (position(batch) + half > free) return false;
    free = position(batch) - half;
    return true;
  });
}

function countColumns(subjects: readonly string[]): number {
  const entry = Math.max(...subjects.map((subject) => widthOf(subject, 13))) + 30;
  return Math.max(1, Math.min(subjects.length, Math.floor((COLUMNS * WIDTH) / entry)));
}
