/**
 * The score in a judge's reply, from 0 to 1: `0.7`, `7/10`, `7 out of 10`, `70%`. A number labelled as a score wins
 * (`Score: 0.7`), otherwise the reply must have only one number. Undefined when there is none, when it is ambiguous, or
 * when it is out of range: scores are never guessed or clamped.
 */
export function parseScore(reply: string): number | undefined {
  const text = reply.replace(THOUGHT, " ").replace(/\s+/g, " ");
  const labelled = values(text, LABELLED);
  const found = labelled.size > 0 ? labelled : values(text, SCORE);
  return found.size === 1 ? [...found][0] : undefined;
}

/** The reasoning before the reply. Without a closing tag there is no reply. */
const THOUGHT = /<think>[\s\S]*?(?:<\/think>|$)/gi;
/** A number outside of words, longer numbers, dates and ranges. All repetitions are bounded, to avoid slow matching. */
const NUMBER = String.raw`(?<![\w%]|\d[.,:/-])(-?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:e-?\d{1,3})?)`;
const SCALE = String.raw`(?: ?(?:\/|out of) ?(\d{1,9}(?:\.\d{1,9})?)| ?(%))?`;
const END = String.raw`(?![\w%]|[.,:/-]\d)`;
const LABEL = String.raw`(?:\b|_)(?:score|rating|grade)["'*_]{0,3} ?[:=] ?["'*_]{0,3} ?`;
const SCORE = new RegExp(NUMBER + SCALE + END, "gi");
const LABELLED = new RegExp(LABEL + NUMBER + SCALE + END, "gi");

function values(text: string, pattern: RegExp): Set<number | undefined> {
  return new Set([...text.matchAll(pattern)].map(toScore));
}

function toScore([, number, scale, percent]: RegExpMatchArray): number | undefined {
  const full = scale !== undefined ? Number(scale) : percent !== undefined ? 100 : 1;
  const score = Number(number) / full;
  return score >= 0 && score <= 1 ? score : undefined;
}
