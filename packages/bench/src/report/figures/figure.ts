import { ENOUGH_SUCCESS, type NamedRow } from "../../burst/results/max-batch.js";

/** A picture as a Vega-Lite specification with its data inside. */
export interface Figure {
  name: string;
  title: string;
  spec: Record<string, unknown>;
}

/** A picture that is not drawn, as its data say nothing. */
export interface Omitted {
  name: string;
  title: string;
  reason: string;
}

/** What all pictures of a comparison share. */
export interface Setting {
  /** Every subject, in the order of the tables: the same colour in each picture. */
  subjects: readonly string[];
  /** The machine and the repetitions, for the lines below the title. */
  caption: string;
}

/** Latencies of a burst that failed are those of the few that got through: they are not compared. */
export function hasSucceeded({ success_rate }: NamedRow): boolean {
  return success_rate >= ENOUGH_SUCCESS;
}

/** The width that a text has at most. The plotting library cannot measure fonts. */
export function widthOf(text: string, fontSize = 11): number {
  return text.length * fontSize * 0.66;
}

/** A panel for each wait, the shortest first. */
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

/** The colour of a subject. Without a legend where each is named beside what is drawn. */
export function colourOf({ subjects }: Setting, legend: object | null): object {
  const scale = { domain: subjects, range: coloursOf(subjects) };
  return { field: "subject", type: "nominal", title: null, scale, legend };
}

export function shapeOf({ subjects }: Setting, legend: object): object {
  const scale = { domain: subjects, range: shapesOf(subjects) };
  return { field: "subject", type: "nominal", title: null, scale, legend };
}

const CAPTION_LENGTH = 90;
const FONT = "DejaVu Sans, Helvetica, Arial, sans-serif";

/** Adds the title, the caption and the style. `says` explains the marks. */
export function createFigure(
  { name, title, says }: { name: string; title: string; says: string },
  { caption }: Setting,
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

/** Kelly's colours of greatest contrast, those that are easy to see on white first. */
const COLOURS = [
  ...["#0067a5", "#f38400", "#be0032", "#008856", "#875692", "#a1caf1", "#654522", "#e68fac", "#8db600", "#848482"],
  ...["#2b3d26", "#f3c300", "#b3446c", "#c2b280", "#604e97", "#f99379", "#e25822", "#882d17", "#f6a600", "#dcd300"],
];
const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"];
const GOLDEN_ANGLE = 137.508;

/** One colour for each name, in every picture the same; no two names share one. */
function coloursOf(names: readonly string[]): string[] {
  return names.map((_, index) => COLOURS[index] ?? generate(index - COLOURS.length));
}

/** Colours alone do not tell lines apart that are close together. */
function shapesOf(names: readonly string[]): string[] {
  return names.map((_, index) => SHAPES[index % SHAPES.length] as string);
}

function generate(index: number): string {
  const hue = (index * GOLDEN_ANGLE) % 360;
  // Fractions keep two hues from becoming one.
  return `hsl(${hue.toFixed(3)}, ${index % 2 === 0 ? 55 : 80}%, ${35 + 10 * (index % 3)}%)`;
}
