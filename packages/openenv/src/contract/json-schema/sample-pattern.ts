/** The most extra repetitions tried to reach the minimum length. */
const MAX_MORE = 8;

/**
 * A string that matches a regular expression and has a length in the given range; undefined when none was found. It
 * takes the first alternative of a group and the first character of a class. Lookaheads and lookbehinds are only
 * checked at the end.
 */
export function samplePattern(pattern: string, minLength: number, maxLength: number): string | undefined {
  const expression = compile(pattern);
  if (!expression) return undefined;
  for (let more = 0; more <= MAX_MORE; more++) {
    const text = new Reader(pattern, more).alternatives();
    if (text.length >= minLength && text.length <= maxLength && expression.test(text)) return text;
  }
  return undefined;
}

function compile(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return undefined;
  }
}

const ESCAPED: Record<string, string> = { d: "1", w: "a", s: " ", D: "a", W: " ", S: "a", n: "\n", t: "\t", r: "\r" };
/** Tried for negated classes. */
const CANDIDATES = [..."a1A -_.\n"];

class Reader {
  readonly #pattern: string;
  readonly #more: number;
  #at = 0;

  constructor(pattern: string, more: number) {
    this.#pattern = pattern;
    this.#more = more;
  }

  /** Reads to the end of the pattern or of the group. */
  alternatives(): string {
    let first: string | undefined;
    let text = "";
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== ")") {
      if (this.#pattern[this.#at] !== "|") {
        text += this.#repeated();
        continue;
      }
      this.#at++;
      first ??= text;
      text = "";
    }
    this.#at++;
    return first ?? text;
  }

  #repeated(): string {
    const text = this.#one();
    const [found, bounds] = /^(?:[*+?]|\{(\d+(?:,\d*)?)\})\??/.exec(this.#pattern.slice(this.#at)) ?? [""];
    if (found === "") return text;
    this.#at += found.length;
    const [least = "", most = least] =
      bounds?.split(",") ?? { "*": ["0", ""], "+": ["1", ""], "?": ["0", "1"] }[found[0] ?? ""] ?? [];
    return text.repeat(Math.min(Number(least) + this.#more, most === "" ? Infinity : Number(most)));
  }

  #one(): string {
    const letter = this.#pattern[this.#at++] ?? "";
    if (letter === "(") return this.#group();
    if (letter === "[") return this.#class();
    if (letter === "\\") return this.#escape();
    if (letter === "^" || letter === "$") return "";
    return letter === "." ? "a" : letter;
  }

  #group(): string {
    const [kind = ""] = /^\?(?:[:=!]|<[=!]|<\w+>)/.exec(this.#pattern.slice(this.#at)) ?? [];
    this.#at += kind.length;
    const text = this.alternatives();
    return /[=!]$/.test(kind) ? "" : text;
  }

  #escape(): string {
    const [found = ""] =
      /^(?:u\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|[pP]\{[^}]*\}|.)/i.exec(this.#pattern.slice(this.#at)) ?? [];
    this.#at += found.length;
    if (/^[bB\d]$/.test(found)) return "";
    if (/^[pP]/.test(found)) return CANDIDATES.find((letter) => compile(`\\${found}`)?.test(letter)) ?? "";
    if (/^[ux]./.test(found)) return String.fromCodePoint(Number.parseInt(found.replace(/[ux{}]/g, ""), 16));
    return ESCAPED[found] ?? found;
  }

  #class(): string {
    const start = this.#at - 1;
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== "]") {
      this.#at += this.#pattern[this.#at] === "\\" ? 2 : 1;
    }
    this.#at++;
    const source = this.#pattern.slice(start, this.#at);
    const first = source[1] === "\\" || source[1] === "^" ? [] : [source[1] ?? ""];
    return [...first, ...CANDIDATES, ...source].find((letter) => compile(`^${source}$`)?.test(letter)) ?? "";
  }
}
