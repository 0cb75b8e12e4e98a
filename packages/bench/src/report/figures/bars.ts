import type { FigureSetting } from "./figure.js";
import { colourOf, drawPanels, widthOf } from "./figure.js";

/** One bar: its value, the spread of its repetitions, and its label. */
export interface Bar {
  subject: string;
  wait_seconds: number;
  value: number;
  least: number;
  most: number;
  /** The value is only a lower bound. */
  open: boolean;
  label: string;
}

const WIDTH = 420;
const ARROW = 16;
const LABEL_GAP = 6;

/** Horizontal bars, one row per subject and one panel per wait; with `parts` each bar is a stack of these rows. */
export function drawBars(
  rows: readonly Bar[],
  setting: FigureSetting,
  {
    format,
    unit = null,
    parts,
  }: { format: string; unit?: string | null; parts?: { rows: readonly object[]; names: readonly string[] } },
): Record<string, unknown> {
  const most = Math.max(...rows.map((row) => Math.max(row.value, row.most))) || 1;
  const label = Math.max(...rows.map((row) => widthOf(row.label) + ARROW + LABEL_GAP));
  const width = Math.max(WIDTH, 2 * label);
  const scale = { domain: [0, (most * width) / (width - label)], nice: false, zero: true };
  const x = { field: "value", type: "quantitative", title: unit, axis: { format, tickCount: 5 }, scale };
  const y = { field: "subject", type: "nominal", title: null, sort: setting.subjects };
  const ofWhole = { filter: "datum.part == null" };
  const ofSpread = [ofWhole, { filter: "datum.least < datum.most" }];
  const colour = parts
    ? { field: "part", type: "nominal", title: null, sort: parts.names, legend: { orient: "bottom" } }
    : colourOf(setting, null);
  const arrow = {
    transform: [{ filter: "datum.open" }],
    mark: { type: "point", shape: "triangle-right", filled: true, opacity: 1, size: 120, xOffset: 8 },
    encoding: { x, color: colour },
  };
  const layer = [
    {
      transform: [{ filter: parts ? "datum.part != null" : "datum.part == null" }],
      mark: { type: "bar" },
      encoding: { x, color: colour, ...(parts && { order: { field: "order", type: "quantitative" } }) },
    },
    ...(rows.some(({ open }) => open) ? [arrow] : []),
    {
      transform: ofSpread,
      mark: { type: "rule", strokeWidth: 1.5 },
      encoding: { x: { ...x, field: "least" }, x2: { field: "most" } },
    },
    ...["least", "most"].map((field) => ({
      transform: ofSpread,
      mark: { type: "tick", color: "black", thickness: 1.5, size: 10 },
      encoding: { x: { ...x, field } },
    })),
    ...[true, false].map((open) => ({
      transform: [
        ofWhole,
        { filter: { field: "open", equal: open } },
        { calculate: "max(datum.value, datum.most)", as: "end" },
      ],
      mark: { type: "text", align: "left", dx: LABEL_GAP + (open ? ARROW : 0) },
      encoding: { x: { ...x, field: "end" }, text: { field: "label", type: "nominal" } },
    })),
  ];
  return {
    data: { values: [...rows, ...(parts?.rows ?? [])] },
    ...drawPanels(rows, { columns: 1, panel: { width, height: { step: 26 }, encoding: { y }, layer } }),
  };
}
