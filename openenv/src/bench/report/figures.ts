import { ENOUGH_SUCCESS, findMaxBatches, type NamedRow } from "../burst/max-batch.js";

/** A picture as a Vega-Lite specification with its data inside. */
export interface Figure {
  name: string;
  title: string;
  spec: Record<string, unknown>;
}

const BATCH = { field: "requests", type: "ordinal", title: "batch", axis: { labelAngle: 0 } };
const SUBJECT = { field: "subject", type: "nominal", title: null };
const PANEL = { width: 280, height: 220 };

/** The pictures of a comparison, from the rows that hold all repetitions. */
export function createFigures(rows: readonly NamedRow[]): Figure[] {
  const all = rows.filter(({ rep }) => rep === "all").map(named);
  if (all.length === 0) return [];
  const batches = findMaxBatches(all).map(named);
  const perCore = batches.filter((batch) => batch.perCore !== null);
  return [
    bars({ name: "max-batch", title: "Largest batch with at least 95 % success", rows: batches, field: "bySuccess" }),
    ...(perCore.length === 0
      ? []
      : [bars({ name: "batch-per-core", title: "Largest batch per core", rows: perCore, field: "perCore" })]),
    lines({
      name: "success",
      title: "Success against batch",
      rows: all,
      y: {
        field: "success_rate",
        type: "quantitative",
        title: "success",
        axis: { format: "%" },
        scale: { domain: [0, 1] },
      },
    }),
    heatMap(all),
    breakdown(all),
    lines({
      name: "scaling",
      title: "Requests per second against batch",
      rows: all,
      y: { field: "requests_per_second", type: "quantitative", title: "requests/s" },
    }),
  ];
}

type Waiting = { wait_seconds: number; wait: string };
type Burst = NamedRow & Waiting;

/** One panel a wait has its name as a title. */
function named<T extends { wait_seconds: number }>(row: T): T & Waiting {
  return { ...row, wait: `wait ${row.wait_seconds} s` };
}

function byWait(rows: readonly Waiting[]): object {
  const waits = rows.toSorted((a, b) => a.wait_seconds - b.wait_seconds).map(({ wait }) => wait);
  return { field: "wait", type: "nominal", title: null, sort: [...new Set(waits)], header: { labelFontSize: 12 } };
}

interface Panel {
  name: string;
  title: string;
  rows: readonly Waiting[];
}

/** Latencies of a burst that failed are those of the few that got through: they are shown as what they are. */
const SUCCEEDED = `datum.success_rate >= ${ENOUGH_SUCCESS}`;

function bars({ name, title, rows, field }: Panel & { field: string }): Figure {
  const most = Math.max(...rows.map((row) => Number((row as unknown as Record<string, unknown>)[field] ?? 0)));
  const axis = { format: ",d", tickCount: 5 };
  // Room for the number behind the longest bar.
  const x = { field, type: "quantitative", title: null, axis, scale: { domain: [0, most * 1.12 || 1], nice: false } };
  const encoding = { y: { ...SUBJECT, sort: null }, x };
  const layer = [
    { mark: { type: "bar" }, encoding: { color: { ...SUBJECT, legend: null } } },
    {
      mark: { type: "text", align: "left", dx: 4 },
      encoding: { text: { field, type: "quantitative", format: ",.1~f" } },
    },
  ];
  return figure(name, title, {
    data: { values: rows },
    facet: { row: byWait(rows) },
    spec: { width: 420, height: { step: 24 }, encoding, layer },
  });
}

function lines({ name, title, rows, y }: Panel & { y: object }): Figure {
  return figure(name, title, {
    data: { values: rows },
    facet: { column: byWait(rows) },
    spec: {
      ...PANEL,
      mark: { type: "line", point: { size: 40 } },
      encoding: { x: BATCH, y, color: { ...SUBJECT, legend: { orient: "bottom", labelLimit: 400 } } },
    },
  });
}

function heatMap(rows: readonly Burst[]): Figure {
  const stretched = rows.every(({ wait_seconds }) => wait_seconds > 0);
  const shades = rows
    .filter(({ success_rate }) => success_rate >= ENOUGH_SUCCESS)
    .map(({ total_p99_ms, wait_seconds }) => (total_p99_ms ?? 0) / 1000 / (stretched ? wait_seconds : 1));
  const dark = Math.max(...shades, 1) ** DARK_FROM;
  const transform = [
    { calculate: `${SUCCEEDED} ? datum.total_p99_ms / 1000 : null`, as: "seconds" },
    { calculate: stretched ? "datum.seconds / datum.wait_seconds" : "datum.seconds", as: "shade" },
    {
      calculate: `${SUCCEEDED} ? format(datum.seconds, '.2f') + ' s' : format(datum.success_rate, '.0%') + ' ok'`,
      as: "label",
    },
  ];
  const color = {
    field: "shade",
    type: "quantitative",
    title: stretched ? "p99 : wait" : "p99, s",
    scale: { scheme: "yellowgreenblue", type: "log", domainMin: stretched ? 1 : undefined },
    legend: { format: "~g" },
  };
  return figure("latency-p99", "Total p99 of a request (grey: fewer than 95 % succeeded)", {
    data: { values: rows },
    transform,
    facet: { row: byWait(rows) },
    spec: {
      width: { step: 72 },
      height: { step: 28 },
      encoding: { x: BATCH, y: { ...SUBJECT, sort: null } },
      layer: [
        { mark: { type: "rect", color: "#ddd" } },
        { transform: [{ filter: "datum.seconds != null" }], mark: { type: "rect" }, encoding: { color } },
        {
          mark: { type: "text", fontSize: 11 },
          encoding: {
            text: { field: "label", type: "nominal" },
            color: { condition: { test: `datum.shade > ${dark}`, value: "white" }, value: "black" },
          },
        },
      ],
    },
  });
}

/** The part of the logarithmic scale from which black is hard to read. */
const DARK_FROM = 0.6;

function breakdown(rows: readonly Burst[]): Figure {
  const parts = ["connect", "reset", "step"] as const;
  const values = rows.flatMap((row) =>
    parts.map((part, order) => ({
      ...row,
      part,
      order,
      seconds: (row[`${part}_p50_ms`] ?? 0) / 1000,
    })),
  );
  return figure("breakdown", "Median of connect, reset and step (faint: fewer than 95 % succeeded)", {
    data: { values },
    facet: { row: { field: "subject", type: "nominal", title: null, sort: null }, column: byWait(rows) },
    spec: {
      ...PANEL,
      height: 160,
      mark: { type: "bar" },
      encoding: {
        x: BATCH,
        y: { field: "seconds", type: "quantitative", title: "seconds" },
        color: { field: "part", type: "nominal", title: null, sort: [...parts], legend: { orient: "bottom" } },
        order: { field: "order", type: "quantitative" },
        opacity: { condition: { test: SUCCEEDED, value: 1 }, value: 0.35 },
      },
    },
  });
}

function figure(name: string, title: string, spec: Record<string, unknown>): Figure {
  const font = "DejaVu Sans, Helvetica, Arial, sans-serif";
  return {
    name,
    title,
    spec: {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      title: { text: title, anchor: "start", fontSize: 15 },
      background: "white",
      padding: 16,
      config: { font, view: { stroke: "#ddd" }, axis: { gridColor: "#eee" } },
      ...spec,
    },
  };
}
