/** A piece of two texts: in both of them, or in one. */
export interface WordSpan {
  text: string;
  side: "both" | "a" | "b";
}

/** Words, and the spaces and signs between them. */
const TOKEN = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
/** Longer texts are not split into words. */
const MAX_LENGTH = 40_000;
const MAX_CELLS = 400_000;

/** The words that differ between two texts, in the order of reading: what only the first has comes before the second's. */
export function diffWords(a: string, b: string): WordSpan[] {
  if (a === b) return a === "" ? [] : [{ text: a, side: "both" }];
  const [left, right] = a.length + b.length > MAX_LENGTH ? [[a], [b]] : [tokensOf(a), tokensOf(b)];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start++;
  let end = 0;
  while (end < Math.min(left.length, right.length) - start && left.at(-1 - end) === right.at(-1 - end)) end++;
  const [x, y] = [left.slice(start, left.length - end), right.slice(start, right.length - end)];
  const spans: WordSpan[] = [];
  for (const text of left.slice(0, start)) add(spans, text, "both");
  if (x.length * y.length > MAX_CELLS) {
    for (const text of x) add(spans, text, "a");
    for (const text of y) add(spans, text, "b");
  } else addDifferent(spans, x, y);
  for (const text of left.slice(left.length - end)) add(spans, text, "both");
  return joinAcrossSpaces(spans);
}

function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/** Adds the words of the longest common subsequence, and the words that are not in it. */
function addDifferent(spans: WordSpan[], x: string[], y: string[]): void {
  const width = y.length + 1;
  const lengths = new Uint16Array((x.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] as number;
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) {
      lengths[i * width + j] = x[i] === y[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    if (i < x.length && x[i] === y[j]) {
      add(spans, x[i++] as string, "both");
      j++;
    } else if (i < x.length && (j === y.length || at(i + 1, j) >= at(i, j + 1))) add(spans, x[i++] as string, "a");
    else add(spans, y[j++] as string, "b");
  }
}

function add(spans: WordSpan[], text: string, side: WordSpan["side"]): void {
  const last = spans.at(-1);
  if (last?.side === side) last.text += text;
  else spans.push({ text, side });
}

/** A space between two changes belongs to both of them, so that a changed phrase is one piece. */
function joinAcrossSpaces(spans: WordSpan[]): WordSpan[] {
  const joined: WordSpan[] = [];
  let [a, b] = ["", ""];
  const flush = (): void => {
    if (a !== "") joined.push({ text: a, side: "a" });
    if (b !== "") joined.push({ text: b, side: "b" });
    [a, b] = ["", ""];
  };
  for (const [at, { text, side }] of spans.entries()) {
    const next = spans[at + 1];
    if (side === "a") a += text;
    else if (side === "b") b += text;
    else if ((a !== "" || b !== "") && next && text.trim() === "") [a, b] = [a + text, b + text];
    else {
      flush();
      joined.push({ text, side });
    }
  }
  flush();
  return joined;
}
