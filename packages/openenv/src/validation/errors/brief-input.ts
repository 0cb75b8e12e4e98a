import { clip } from "../../util/text/clip.js";

const MAX_JSON = 2_000;
const MAX_TEXT = 500;
const MAX_DEPTH = 50;

/**
 * The input as an error shows it: small plain JSON unchanged, anything else as a short description. The result is
 * always small and has a JSON form.
 */
export function briefInput(value: unknown): unknown {
  switch (typeof value) {
    case "string":
      return briefText(value);
    case "object":
      return value === null || fits(value, { left: MAX_JSON }, 0) ? value : about(value);
    case "number":
    case "boolean":
      return value;
    default:
      return value === undefined ? null : `(${typeof value})`;
  }
}

function briefText(text: string): string {
  const start = clip(text, MAX_TEXT);
  return text.length > MAX_TEXT ? `${start}… (${text.length} characters)` : start;
}

/** Lone surrogates, which Python cannot encode. */
const LONE = /\p{Surrogate}/u;

function fits(value: unknown, budget: { left: number }, depth: number): boolean {
  switch (typeof value) {
    case "string":
      budget.left -= value.length + 2;
      return budget.left >= 0 && !LONE.test(value);
    case "number":
    case "boolean":
    case "undefined":
      budget.left -= 4;
      return budget.left >= 0;
    case "object": {
      budget.left -= 4;
      if (budget.left < 0 || depth > MAX_DEPTH || ArrayBuffer.isView(value)) return false;
      if (value === null) return true;
      if (Array.isArray(value)) return value.length <= MAX_JSON && value.every((item) => fits(item, budget, depth + 1));
      // `for in` can stop early; Object.entries would first list a million keys.
      for (const key in value) {
        if (!fits(key, budget, depth) || !fits((value as Record<string, unknown>)[key], budget, depth + 1))
          return false;
      }
      return true;
    }
    default:
      return false;
  }
}

function about(value: object): string {
  if (Array.isArray(value)) return `(list of ${value.length} items)`;
  const kind = value.constructor?.name ?? "Object";
  return kind === "Object" ? "(large object)" : `(${kind})`;
}
