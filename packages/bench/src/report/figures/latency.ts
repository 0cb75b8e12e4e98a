import type { NamedRow } from "../../burst/results/max-batch.js";
import { repetitionsOf, spreadOf } from "../../burst/results/repetitions.js";
import { createFigure, drawPanels, type Figure, type FigureSetting, hasSucceeded, type Omitted } from "./figure.js";

/** The fraction of the logarithmic scale above which black text is hard to read. */
const DARK_FROM = 0.6;
const CELL = { width: { step: 84 }, height: { step: 36 } };

/** One cell per burst, with the spread of its repetitions. */
export function drawLatencies(rows: readonly NamedRow[], setting: FigureSetting): Figure | Omitted {
  const title = "Total p99 of a request";
  const all = rows.filter(({ rep }) => rep === "all");
  const stretched = all.every(({ wait_seconds }) => wait_seconds > 0);
  const cells = all.map((row) => toCell(row, { rows, stretched }));
  if (new Set(cells.map(({ label }) => label)).size < 2) {
    return { name: "latency-p99", title, reason: `it is ${cells[0]?.label ?? "unknown"} in every burst.` };
  }
  const shades = cells.flatMap(({ shade }) => shade ?? []);
  const least = stretched ? 1 : Math.min(...shades);
  const most = Math.max(2 * least, ...shades);
  const dark = least * (most / least) ** DARK_FROM;
  const color = {
    field: "shade",
    type: "quantitative",
    title: stretched ? "p99 : wait" : "p99, s",
    scale: { scheme: "yellowgreenblue", type: "log", domain: [least, most] },
    legend: { format: "~g" },
  };
  const batches = [...new Set(all.map(({ requests }) => requests))].toSorted((a, b) => a - b);
  const axis = { labelAngle: 0, format: ",d" };
  const x = { field: "requests", type: "ordinal", title: "batch", axis, scale: { domain: batches } };
  const y = { field: "subject", type: "nominal", title: null, sort: setting.subjects };
  const ink = { condition: { test: `datum.shade > ${dark}`, value: "white" }, value: "black" };
  const layer = [
    { mark: { type: "rect", color: "#ddd" } },
    ...(shades.length === 0
      ? []
      : [{ transform: [{ filter: "datum.shade != null" }], mark: { type: "rect" }, encoding: { color } }]),
    { mark: { type: "text", fontSize: 11, dy: -6 }, encoding: { text: { field: "label" }, color: ink } },
    { mark: { type: "text", fontSize: 9, dy: 9 }, encoding: { text: { field: "spread" }, color: ink } },
  ];
  const says = "Below it the smallest and the largest repetition. Grey: fewer than 95 % succeeded. White: not tried.";
  return createFigure({ name: "latency-p99", title, says }, setting, {
    data: { values: cells },
    ...drawPanels(all, { columns: 1, panel: { ...CELL, encoding: { x, y }, layer } }),
  });
}

function toCell(row: NamedRow, { rows, stretched }: { rows: readonly NamedRow[]; stretched: boolean }) {
  const { subject, wait_seconds, requests } = row;
  const good = hasSucceeded(row) && row.total_p99_ms !== null;
  const value = ({ total_p99_ms, success_rate }: NamedRow): number | null => (good ? total_p99_ms : success_rate);
  const render = (one: number | null): string => {
    if (one === null) return "–";
    return good ? (one / 1000).toFixed(2) : (one * 100).toFixed(0);
  };
  const repetitions = repetitionsOf(row, rows);
  const spread = repetitions.length < 2 ? null : spreadOf(repetitions, value);
  // A logarithmic scale has no zero.
  const p99 = Math.max(row.total_p99_ms ?? 0, 1) / 1000;
  return {
    subject,
    wait_seconds,
    requests,
    shade: good ? p99 / (stretched ? wait_seconds : 1) : null,
    label: `${render(value(row))}${good ? " s" : " % ok"}`,
    spread: spread === null ? "" : `${render(spread.least)}–${render(spread.most)}`,
  };
}
