/** Figures in pages. */
const FIGURE = String.raw`(\d[\d,]*(?:\.\d+)?)`;

/** Sentences with these words and a number state a result of a measurement. */
const RESULT = [
  /\d[\d.,]*\s+times (?:the|as|more|less|that)\b/,
  /\d\s*µs\b/,
  /\bper CPU-second\b/,
  /\b(?:p99|percentile)\b.*\d\s*m?s\b/,
  /\b[Mm]easured\b.*\d\s*(?:m?s|[kM]B|%)(?![\w`])/,
  /\d\s*(?:m?s|%)\b.*\b(?:processor|CPU) time\b|\b(?:processor|CPU) time\b.*\d\s*(?:ms|s|%)(?![\w`])/,
];

/**
 * The figures of a text such as `{} times the steps` in a page, with their places. Line breaks of the page do not matter.
 * @throws Error unless the page has the text exactly once.
 */
export function findFigures(page, text) {
  const words = text
    .trim()
    .split("{}")
    .map((part) => part.split(/\s+/).map(literal).join(String.raw`\s+`));
  const found = [...page.matchAll(new RegExp(words.join(FIGURE), "dg"))];
  if (found.length !== 1) throw new Error(`has the text "${text}" ${found.length} times instead of once`);
  const [{ indices, index, 0: whole }] = found;
  const figures = indices.slice(1).map(([from, to]) => ({ from, to, shown: page.slice(from, to) }));
  return { figures, from: index, to: index + whole.length };
}

/** Writes a value as a figure with as many decimals as `shown` has. */
export function renderLike(shown, value) {
  const decimals = /\.(\d+)$/.exec(shown)?.[1].length ?? 0;
  const [whole, rest] = value.toFixed(decimals).split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), rest].filter((part) => part !== undefined).join(".");
}

/** Sentences of a page that state a result, without the claimed places. Code is not searched. */
export function findUnclaimed(page, claimed) {
  const left = claimed.reduce((text, { from, to }) => blank(text, from, to), page);
  const prose = left.replace(/^```[\s\S]*?^```/gm, "").replace(/\]\([^)\s]*\)/g, "]");
  const sentences = prose.split(/\n\s*\n|\n(?=\s*(?:[-|*]|\d+\.) )|(?<=[.:;?!]\)?\**) (?=[A-Z*[`])/);
  return sentences
    .map((sentence) => sentence.replace(/\s+/g, " ").trim())
    .filter((sentence) => RESULT.some((pattern) => pattern.test(sentence)));
}

function blank(text, from, to) {
  return text.slice(0, from) + text.slice(from, to).replace(/\S/g, "_") + text.slice(to);
}

function literal(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
