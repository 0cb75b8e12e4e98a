/** Pictures of the study, each in light and in dark. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { createFigure, drawFigure, medianOf } from "@openenv-ts/bench";
import { three } from "./text.mjs";

const INK = { background: "#0d1117", text: "#e6edf3", soft: "#9da7b3", line: "#30363d" };
/** Length of the axis for a largest value of 1, with room for its label. */
const ROOM = 1.15;

/** Writes `<name>-light.svg` and `<name>-dark.svg`. */
export async function writeFigure(dir, name, figure) {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, `${name}-light.svg`), (await drawFigure(figure)).svg);
  writeFileSync(join(dir, `${name}-dark.svg`), (await drawFigure({ ...figure, spec: darken(figure.spec) })).svg);
}

/** The HTML of a picture that follows the reader's colours. */
export function renderPicture(dir, name, title) {
  const source = (kind) => posix.join(dir, `${name}-${kind}.svg`);
  return `<picture>
  <source media="(prefers-color-scheme: dark)" srcset="${source("dark")}">
  <img alt="${title}" src="${source("light")}">
</picture>`;
}

/** Horizontal bars of medians, one for each measure and subject, with the smallest and the largest sample. */
export function drawSamples({ title, says, caption, unit }, rows) {
  const values = rows.flatMap(({ measure, samples }) =>
    Object.keys(samples).flatMap((subject) => {
      const kept = samples[subject].filter((value) => value !== null);
      const value = medianOf(samples, subject);
      if (value === undefined) return [];
      const label = measure.replaceAll("`", "");
      return [
        { measure: label, subject, value, shown: three(value), least: Math.min(...kept), most: Math.max(...kept) },
      ];
    }),
  );
  const largest = Math.max(...values.map(({ most }) => most));
  const x = { field: "value", type: "quantitative", title: unit, scale: { domain: [0, ROOM * largest] } };
  const several = new Set(values.map(({ subject }) => subject)).size > 1;
  const colour = several && { color: { field: "subject", type: "nominal", title: null, legend: { orient: "bottom" } } };
  const lanes = several && { yOffset: { field: "subject" } };
  return createFigure(
    { name: "samples", title, says: [says, "Lines: the smallest and the largest round."].filter(Boolean).join(" ") },
    { caption, subjects: [] },
    {
      data: { values },
      width: 420,
      height: { step: several ? 16 : 26 },
      encoding: { y: { field: "measure", type: "nominal", title: null, sort: null }, ...lanes },
      layer: [
        { mark: { type: "bar" }, encoding: { x, ...colour } },
        {
          transform: [{ filter: "datum.least < datum.most" }],
          mark: { type: "rule", strokeWidth: 1.5 },
          encoding: { x: { ...x, field: "least" }, x2: { field: "most" } },
        },
        {
          mark: { type: "text", align: "left", dx: 6 },
          encoding: { x: { ...x, field: "most" }, text: { field: "shown", type: "nominal" } },
        },
      ],
    },
  );
}

/** The same picture on a dark page: black and grey become light, the colours of the data stay. */
function darken(spec) {
  const labels = { labelColor: INK.soft, titleColor: INK.text };
  const { title, config } = spec;
  return {
    ...replaceBlack(spec),
    background: INK.background,
    title: { ...title, color: INK.text, subtitleColor: INK.soft, subtitle: title.subtitle.map(nameDark) },
    config: {
      ...config,
      view: { stroke: INK.line },
      title: { color: INK.text },
      axis: { ...config.axis, ...labels, gridColor: INK.line, domainColor: INK.line, tickColor: INK.line },
      legend: { ...config.legend, ...labels },
      text: { color: INK.text },
      rule: { color: INK.text },
    },
  };
}

/** The explanation of the marks names two colours. */
function nameDark(line) {
  return line.replace("White: ", "Black: ").replace("Black line: ", "White line: ");
}

function replaceBlack(value) {
  if (Array.isArray(value)) return value.map(replaceBlack);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, key === "color" && one === "black" ? INK.text : replaceBlack(one)]),
  );
}
