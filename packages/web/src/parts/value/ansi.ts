/** A piece of text and the class names of its look, of which the style sheet has all. */
export interface AnsiSpan {
  text: string;
  look: string;
}

/** One of the sequences of a terminal: colors and text attributes, then all others, which are dropped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with the control character Escape
const SEQUENCE = /\x1b\[([\d;:]*)m|\x1b\[[\d;:?<=>!]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]?/g;
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const ATTRIBUTES: Record<number, string> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  7: "inverse",
  9: "strike",
};
/** Codes that end attributes. */
const ENDS: Record<number, string[]> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
  29: ["strike"],
};

/** True for text with a color or attribute of a terminal. */
export function hasAnsi(text: string): boolean {
  return text.includes("\x1b[");
}

/** Splits the output of a terminal into pieces of one look. Links, cursor movements and titles are dropped. */
export function parseAnsi(text: string): AnsiSpan[] {
  const spans: AnsiSpan[] = [];
  const style: Style = { front: "", back: "", attributes: new Set() };
  let from = 0;
  const add = (to: number): void => {
    if (to > from) spans.push({ text: text.slice(from, to), look: lookOf(style) });
  };
  for (const match of text.matchAll(SEQUENCE)) {
    add(match.index);
    from = match.index + match[0].length;
    if (match[1] !== undefined) apply(style, match[1].split(/[;:]/).map(Number));
  }
  add(text.length);
  return spans;
}

/** The text without sequences of a terminal. */
export function withoutAnsi(text: string): string {
  return hasAnsi(text) ? text.replace(SEQUENCE, "") : text;
}

interface Style {
  front: string;
  back: string;
  attributes: Set<string>;
}

function lookOf({ front, back, attributes }: Style): string {
  const names = [...attributes, ...(front ? [`fg-${front}`] : []), ...(back ? [`bg-${back}`] : [])];
  return names.map((name) => `ansi-${name}`).join(" ");
}

function apply(style: Style, codes: number[]): void {
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] as number;
    const attribute = ATTRIBUTES[code];
    if (code === 0) Object.assign(style, { front: "", back: "", attributes: new Set() });
    else if (attribute) style.attributes.add(attribute);
    else if (ENDS[code]) for (const name of ENDS[code]) style.attributes.delete(name);
    else if (code === 38 || code === 48) {
      const size = codes[at + 1] === 2 ? 4 : 2;
      style[code === 38 ? "front" : "back"] = nearest(codes.slice(at + 1, at + 1 + size));
      at += size;
    } else if (code === 39 || (code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
      style.front = code === 39 ? "" : (NAMES[code % 10] as string);
    } else if (code === 49 || (code >= 40 && code <= 47) || (code >= 100 && code <= 107)) {
      style.back = code === 49 ? "" : (NAMES[code % 10] as string);
    }
  }
}

/** The color of the page that is nearest to one of 256 or of 24 bits. Each channel is on or off. */
function nearest([kind, ...values]: number[]): string {
  const [index = 0] = values;
  if (kind === 5 && index < 16) return NAMES[index % 8] as string;
  const cube = index - 16;
  const channels =
    kind === 2
      ? values
      : index >= 232
        ? [0, 0, 0].fill((index - 232) * 10)
        : [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((level) => level * 51);
  const bits = channels.slice(0, 3).map((channel, at) => (channel > 127 ? 1 << at : 0));
  return NAMES[bits.reduce((sum, bit) => sum + bit, 0)] as string;
}
