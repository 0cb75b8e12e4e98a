/** What a picture that Vega has drawn shows, with places in its own coordinates. */
export interface Drawing {
  width: number;
  height: number;
  texts: Box[];
  marks: DrawnMark[];
}

/** A text and the room that it takes, as far as that can be said without its font. */
export interface Box {
  text: string;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A symbol of the data: its description, and its colour. */
export interface DrawnMark {
  kind: string;
  description: string;
  colour: string | undefined;
}

interface Element {
  name: string;
  matrix: Matrix;
  attributes: Map<string, string>;
}

type Matrix = readonly [number, number, number, number, number, number];

/** Of the digits of DejaVu Sans; other letters are narrower on average. */
const CHARACTER_WIDTH = 0.64;
const ASCENT = 0.75;
const DESCENT = 0.2;
const TOKEN = /<(\/?)([\w-]+)((?:\s+[\w:-]+="[^"]*")*)\s*(\/?)>|([^<]+)/g;

export function readDrawing(svg: string): Drawing {
  const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(svg) ?? [];
  const drawing: Drawing = { width: Number(width), height: Number(height), texts: [], marks: [] };
  const open: Element[] = [];
  for (const [, end, name, written = "", alone, text] of svg.matchAll(TOKEN)) {
    const parent = open.at(-1);
    if (text !== undefined) {
      if (parent && ["text", "tspan"].includes(parent.name)) drawing.texts.push(measure(readEntities(text), parent));
      continue;
    }
    if (end) {
      open.pop();
      continue;
    }
    const own = new Map([...written.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value]));
    const inherited = name === "tspan" ? (parent?.attributes ?? []) : [];
    const attributes = new Map([...inherited, ...own]);
    const element: Element = { name: name ?? "", matrix: place(parent?.matrix, own), attributes };
    // The line of a text is counted from the line before.
    if (name === "tspan" && parent) parent.matrix = element.matrix;
    const description = own.get("aria-label");
    if (description !== undefined && own.get("role") === "graphics-symbol") {
      const colour = [own.get("fill"), own.get("stroke")].find((one) => one && one !== "transparent" && one !== "none");
      drawing.marks.push({
        kind: own.get("aria-roledescription") ?? "",
        description: readEntities(description),
        colour,
      });
    }
    if (!alone) open.push(element);
  }
  return drawing;
}

/** Pairs of texts that lie on each other. */
export function findCollisions({ texts }: Drawing): string[] {
  return texts.flatMap((one, index) =>
    texts
      .slice(index + 1)
      .filter(
        (other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom,
      )
      .map((other) => `${one.text} and ${other.text}`),
  );
}

function measure(text: string, { matrix, attributes }: Element): Box {
  const size = Number.parseFloat(attributes.get("font-size") ?? "11");
  const length = text.length * size * CHARACTER_WIDTH;
  const anchor = attributes.get("text-anchor");
  const start = anchor === "middle" ? -length / 2 : anchor === "end" ? -length : 0;
  const corners = [start, start + length].flatMap((x) =>
    [-ASCENT * size, DESCENT * size].map((y) => apply(matrix, x, y)),
  );
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
  return { text, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
}

function place(parent: Matrix = [1, 0, 0, 1, 0, 0], attributes: ReadonlyMap<string, string>): Matrix {
  let matrix = parent;
  for (const [, kind, numbers = ""] of (attributes.get("transform") ?? "").matchAll(/(\w+)\(([^)]*)\)/g)) {
    const [a = 0, b = 0] = numbers.split(",").map(Number);
    const angle = (a * Math.PI) / 180;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    matrix = multiply(matrix, kind === "rotate" ? [cos, sin, -sin, cos, 0, 0] : [1, 0, 0, 1, a, b]);
  }
  const [dx, dy] = [Number(attributes.get("dx") ?? 0), Number(attributes.get("dy") ?? 0)];
  return multiply(matrix, [1, 0, 0, 1, dx, dy]);
}

function multiply([a, b, c, d, e, f]: Matrix, [g, h, i, j, k, l]: Matrix): Matrix {
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}

function apply([a, b, c, d, e, f]: Matrix, x: number, y: number): [number, number] {
  return [a * x + c * y + e, b * x + d * y + f];
}

function readEntities(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}
