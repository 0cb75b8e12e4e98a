/** Where the microseconds of a step go: the parts in a loop without a socket, and what is left of the processor time. */
import { createFigure, medianOf } from "@openenv-ts/bench";
import { NAMES } from "./names.mjs";
import { PARTS } from "./pieces.mjs";

const REST = "sockets, WebSocket, HTTP, system";
const WIDTH = 560;

/** Rows for the table, and the text and pictures of the others. */
export function explain(rows) {
  const shown = rows.filter(({ id }) => !id.startsWith("part-"));
  const bars = Object.keys(NAMES).flatMap((runtime) => barsOf(rows, runtime));
  if (bars.length === 0) return { shown };
  const figures = [drawTimes(bars), drawRates(rows)];
  const pictures = figures.map(({ name, title }) => `![${title}](../results/${name}.svg)`).join("\n\n");
  return {
    shown,
    text: `\n## Where the microseconds of a step go\n\n${renderTimes(bars)}\n\n${EXPLANATION}\n\n${pictures}\n`,
    figures,
  };
}

const EXPLANATION =
  "Microseconds of server processor time for one step with 32 connections: the inverse of the rows of steps. The parts of ours " +
  "were measured in a loop without a socket (`runtimes/step-pieces.mjs`), when the runtime has compiled them; of the bare server only " +
  "JSON. A part that is shorter than its measurement can tell is 0. The last part is what is left: the runtime's own work for sockets, and that of the system, which is most of it everywhere.";

/** The parts of ours and of the control on a runtime; none without both measurements. */
function barsOf(rows, runtime) {
  const find = (id) => rows.find((row) => row.id === id)?.samples;
  const steps = find(`steps-${runtime}-32`);
  const parts = Object.entries(PARTS).map(([part, name]) => [name, find(`part-${part}-${runtime}`)]);
  if (steps === undefined || parts.some(([, samples]) => samples === undefined)) return [];
  const micros = (subject) => 1e6 / medianOf(steps, subject);
  // A part is the difference of two loops, which may be below zero by chance.
  const ours = parts.map(([part, samples]) => ({ part, value: Math.max(0, medianOf(samples, "ours")) }));
  const rest = (all, known) => ({ part: REST, value: all - known.reduce((sum, { value }) => sum + value, 0) });
  const json = ours.filter(({ part }) => part === PARTS.json);
  return [
    { server: NAMES[runtime], parts: [...ours, rest(micros("ours"), ours)], all: micros("ours") },
    { server: `bare ${NAMES[runtime]}`, parts: [...json, rest(micros("control"), json)], all: micros("control") },
  ];
}

function renderTimes(bars) {
  const head = ["µs", ...bars.map(({ server }) => server)];
  const lines = [...Object.values(PARTS), REST].map((part) => [
    part,
    ...bars.map(({ parts }) => parts.find((one) => one.part === part)?.value.toFixed(2) ?? "–"),
  ]);
  const all = ["**all**", ...bars.map((bar) => `**${bar.all.toFixed(2)}**`)];
  return [head, head.map((_, column) => (column === 0 ? "---" : "--:")), ...lines, all]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

function drawTimes(bars) {
  const names = [...Object.values(PARTS), REST];
  const values = bars.flatMap(({ server, parts }) =>
    parts.map(({ part, value }) => ({ server, part, value, order: names.indexOf(part) })),
  );
  return picture(
    {
      name: "runtimes-times",
      title: "Where the microseconds of a step go",
      says: "Server processor time, 32 connections.",
    },
    {
      data: { values },
      width: WIDTH,
      height: { step: 28 },
      mark: "bar",
      encoding: {
        x: { field: "value", type: "quantitative", title: "µs for each step" },
        y: { field: "server", type: "nominal", title: null, sort: bars.map(({ server }) => server) },
        color: { field: "part", type: "nominal", title: null, sort: names, legend: { orient: "bottom", columns: 2 } },
        order: { field: "order", type: "quantitative" },
      },
    },
  );
}

function drawRates(rows) {
  const values = rows.flatMap(({ id, samples }) => {
    const [, runtime, connections] = /^steps-(\w+)-(\d+)$/.exec(id) ?? [];
    if (runtime === undefined) return [];
    const named = {
      ours: NAMES[runtime],
      control: `bare ${NAMES[runtime]}`,
      python: "Python",
      "python async": "Python, async",
    };
    return Object.keys(samples).flatMap((subject) => {
      const value = medianOf(samples, subject);
      return value === undefined ? [] : [{ server: named[subject], connections: `${connections} connections`, value }];
    });
  });
  return picture(
    { name: "runtimes-steps", title: "Steps per second of server processor time", says: "Medians of the rounds." },
    {
      data: { values },
      width: WIDTH,
      height: { step: 14 },
      mark: "bar",
      encoding: {
        x: { field: "value", type: "quantitative", title: "steps per CPU-second", axis: { format: "~s" } },
        y: { field: "server", type: "nominal", title: null, sort: values.map(({ server }) => server) },
        yOffset: { field: "connections", sort: ["32 connections", "256 connections"] },
        color: {
          field: "connections",
          type: "nominal",
          title: null,
          sort: ["32 connections", "256 connections"],
          legend: { orient: "bottom" },
        },
      },
    },
  );
}

function picture(texts, spec) {
  return createFigure(texts, { subjects: [], caption: "" }, spec);
}
