import { ENOUGH_SUCCESS, type NamedRow } from "../../burst/results/max-batch.js";

/** A picture as a Vega-Lite specification that includes its data. */
export interface Figure {
  name: string;
  title: string;
  spec: Record<string, unknown>;
}

/** A picture that is not drawn, because its data show nothing. */
export interface Omitted {
  name: string;
  title: string;
  reason: string;
}

/** The settings that all pictures of a comparison share. */
export interface FigureSetting {
  /** Every subject, in the order of the tables: the same colour in each picture. */
  subjects: readonly string[];
  /** The machine and the repetitions, shown below the title. */
  caption: string;
}

/** Latencies of a failed burst are not compared, because only few requests succeeded. */
export function hasSucceeded({ success_rate }: NamedRow): boolean {
  return success_rate >= ENOUGH_SUCCESS;
}

/** An upper bound of the width of a text. The plotting library cannot measure fonts. */
export function widthOf(text: string, fontSize = 11): number {
  return text.length * fontSize * 0.66;
}

/** A panel for each wait, shortest first. */
export function drawPanels(
  rows: readonly { wait_seconds: number }[],
  { columns, panel }: { columns: number; panel: Record<string, unknown> },
): Record<string, unknown> {
  const waits = [...new Set(rows.map(({ wait_seconds }) => wait_seconds))].toSorted((a, b) => a - b);
  const concat = waits.map((wait) => ({
    ...panel,
    title: { text: `wait ${wait} s`, anchor: "start", fontSize: 12 },
    transform: [{ filter: { field: "wait_seconds", equal: wait } }],
  }));
  return { concat, columns };
}

/** The colour of a subject, without a legend when the labels name the subjects. */
export function colourOf({ subjects }: FigureSetting, legend: object | null): object {
  const scale = { domain: subjects, range: coloursOf(subjects) };
  return { field: "subject", type: "nominal", title: null, scale, legend };
}

export function shapeOf({ subjects }: FigureSetting, legend: object): object {
  const scale = { domain: subjects, range: shapesOf(subjects) };
  return { field: "subject", type: "nominal", title: null, scale, legend };
}

const CAPTION_LENGTH = 90;
const FONT = "DejaVu Sans, Helvetica, Arial, sans-serif";

/** Adds the title, the caption and the style. `says` explains the marks. */
export function createFigure(
  { name, title, says }: { name: string; title: string; says: string },
  { caption }: FigureSetting,
  spec: Record<string, unknown>,
): Figure {
  const subtitle = [says, caption].filter(Boolean).flatMap(wrap);
  return {
    name,
    title,
    spec: {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      title: {
        text: title,
        subtitle,
        anchor: "start",
        fontSize: 15,
        subtitleFontSize: 11,
        subtitleColor: "#555",
        subtitlePadding: 6,
        offset: 12,
      },
      background: "white",
      padding: 16,
      config: {
        font: FONT,
        view: { stroke: "#ddd" },
        axis: { gridColor: "#eee", labelFontSize: 11, titleFontSize: 11, labelLimit: 0 },
        legend: { labelLimit: 0, labelFontSize: 11 },
      },
      ...spec,
    },
  };
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || line.length + word.length >= CAPTION_LENGTH) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

/** Kelly's colours of maximum contrast, those with a good contrast on white first. */
const COLOURS = [
  ...["#0067a5", "#f38400", "#be0032", "#008856", "#875692", "#a1caf1", "#654522", "#e68fac", "#8db600", "#848482"],
  ...["#2b3d26", "#f3c300", "#b3446c", "#c2b280", "#604e97", "#f99379", "#e25822", "#882d17", "#f6a600", "#dcd300"],
];
const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"];
const GOLDEN_ANGLE = 137.508;

/** One colour for each name, the same in every picture; no two names share one. */
function coloursOf(names: readonly string[]): string[] {
  return names.map((_, index) => COLOURS[index] ?? generate(index - COLOURS.length));
}

/** Colours alone do not distinguish lines that are close together. */
function shapesOf(names: readonly string[]): string[] {
  return names.map((_, index) => SHAPES[index % SHAPES.length] as string);
}

function generate(index: number): string {
  const hue = (index * GOLDEN_ANGLE) % 360;
  // Fractions keep the hues distinct.
  return `hsl(${hue.toFixed(3)}, ${index % 2 === 0 ? 55 : 80}%, ${35 + 10 * (index % 3)}%)`;
}
