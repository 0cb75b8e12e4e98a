import { findNearest } from "../util/text/nearest.js";

/**
 * `stuck`: it runs, and its call takes too long. `failed`: an error of the environment or of the infrastructure ended it.
 * `cut`: the client left before the end. `incomplete`: the recording lost a part of it.
 */
export const ROLLOUT_OUTCOMES = ["stuck", "running", "failed", "done", "truncated", "cut", "incomplete"] as const;
export type RolloutOutcome = (typeof ROLLOUT_OUTCOMES)[number];

const RANGES = ["reward", "steps", "duration", "policy", "seed"] as const;
const TIMES = ["after", "before"] as const;
const WORDS = ["outcome", "run", "group", "task", "split", "tool", "error", "env", "client", "id"] as const;
const FIELDS = [...RANGES, ...TIMES, ...WORDS, "label"] as const;

/** One condition of a query; all of them must match. */
export type RolloutTerm = { negated: boolean } & (
  | { field: (typeof RANGES)[number]; range: RolloutRange }
  | { field: (typeof TIMES)[number]; at: number }
  | { field: (typeof WORDS)[number]; value: string }
  | { field: "label"; name: string; value: string }
  | { field: "text"; value: string }
);

/** Numbers from `min` to `max`, each included unless it says so; null for no limit. Durations are milliseconds. */
export interface RolloutRange {
  min: number | null;
  max: number | null;
  /** The limit itself does not match. */
  exclusive?: boolean;
}

/** A part of a query that cannot be parsed. Positions are in UTF-16 units. */
export interface RolloutQueryError {
  start: number;
  end: number;
  term: string;
  message: string;
}

export interface RolloutQuery {
  terms: RolloutTerm[];
  /** Where each term is in the text, for its chip. */
  places: { start: number; end: number }[];
  errors: RolloutQueryError[];
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const MAX_CHARACTERS = 4096;
const MAX_TERMS = 64;
/** A term: a sequence of anything but spaces, in which a part in double quotes may have spaces. */
const TERM = /(?:"(?:[^"\\]|\\.)*"|[^\s"])+|"/gs;
const NUMBER = String.raw`[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?:ms|[smh])?`;
const RANGE = new RegExp(`^(?:(<=?|>=?)(${NUMBER})|(${NUMBER})?\\.\\.(${NUMBER})?|(${NUMBER}))$`, "i");

/** Reads a query. A term that cannot be read is in `errors` and not in `terms`. Never throws. */
export function parseRolloutQuery(text: string): RolloutQuery {
  const query: RolloutQuery = { terms: [], places: [], errors: [] };
  const fail = (start: number, term: string, message: string): void => {
    query.errors.push({ start, end: start + term.length, term, message });
  };
  if (text.length > MAX_CHARACTERS) {
    fail(0, text.slice(0, 40), `A query has at most ${MAX_CHARACTERS} characters; this one has ${text.length}.`);
    return query;
  }
  for (const { 0: term, index } of text.matchAll(TERM)) {
    if (query.terms.length === MAX_TERMS) {
      fail(index, term, `A query has at most ${MAX_TERMS} terms.`);
      break;
    }
    const parsed = parseTerm(term);
    if (typeof parsed === "string") fail(index, term, parsed);
    else {
      query.terms.push(parsed);
      query.places.push({ start: index, end: index + term.length });
    }
  }
  return query;
}

/** The text of a query, which reads as the same terms. */
export function formatRolloutQuery(terms: readonly RolloutTerm[]): string {
  return terms.map((term) => `${term.negated ? "-" : ""}${formatTerm(term)}`).join(" ");
}

/** Returns what is wrong as a string. */
function parseTerm(term: string): RolloutTerm | string {
  const negated = term.startsWith("-") && term.length > 1;
  const body = negated ? term.slice(1) : term;
  if (body === '"' || unquote(body) === "")
    return 'A double quote has no partner or no content. For a quote itself write "\\"".';
  const [, name, given = ""] = /^([a-z]+):(.*)$/is.exec(body) ?? [];
  if (name === undefined) return { negated, field: "text", value: unquote(body) };
  const field = FIELDS.find((one) => one === name.toLowerCase());
  if (field === undefined) {
    const nearest = findNearest(name, FIELDS);
    const hint = nearest === undefined ? `The fields are ${FIELDS.join(", ")}.` : `Did you mean ${nearest}?`;
    return `There is no field "${name}". ${hint} To search for the text, put it into double quotes.`;
  }
  if (given === "") return `"${name}:" needs a value.`;
  return parseValue(field, given, negated);
}

function parseValue(field: (typeof FIELDS)[number], given: string, negated: boolean): RolloutTerm | string {
  if (isOneOf(RANGES, field)) {
    const range = parseRange(field, given);
    return typeof range === "string" ? range : { negated, field, range };
  }
  if (isOneOf(TIMES, field)) {
    const at = Date.parse(unquote(given));
    if (Number.isNaN(at)) return `"${given}" is not a time: write it like ${field}:2026-11-28T10:00Z.`;
    return { negated, field, at };
  }
  if (field === "label") {
    const [, name = "", value = ""] = /^((?:"(?:[^"\\]|\\.)*"|[^="])+)=(.*)$/s.exec(given) ?? [];
    if (name === "") return "A label is written as label:name=value.";
    return { negated, field, name: unquote(name), value: unquote(value) };
  }
  const value = unquote(given);
  if (field === "outcome" && !ROLLOUT_OUTCOMES.some((one) => one === value)) {
    return `"${value}" is not an outcome: use ${ROLLOUT_OUTCOMES.join(", ")}.`;
  }
  return { negated, field, value };
}

function parseRange(field: (typeof RANGES)[number], given: string): RolloutRange | string {
  const units = field === "duration";
  const [, sign, limit, low, high, exact] = RANGE.exec(given) ?? [];
  const numbers = [limit, low, high, exact].filter((one) => one !== undefined);
  const badUnit = !units && numbers.some((one) => /[a-z]$/i.test(one));
  if (numbers.length === 0 || badUnit) {
    const example = units ? "<30s, >2m or 500ms..2s" : "<2, >=2, 2 or 0.5..2";
    return `"${given}" is not a range of numbers: write it like ${field}:${example.replace(/, | or /g, (gap) => `${gap}${field}:`)}.`;
  }
  const read = (one: string | undefined): number | null => {
    if (one === undefined) return null;
    const unit = /(?:ms|[smh])$/i.exec(one)?.[0] ?? "";
    const value = Number(unit === "" ? one : one.slice(0, -unit.length));
    return units ? value * (UNITS[unit.toLowerCase() || "s"] as number) : value;
  };
  const exclusive = sign === "<" || sign === ">" ? { exclusive: true } : {};
  if (sign !== undefined) {
    return sign.startsWith("<")
      ? { min: null, max: read(limit), ...exclusive }
      : { min: read(limit), max: null, ...exclusive };
  }
  const [min, max] = exact === undefined ? [read(low), read(high)] : [read(exact), read(exact)];
  if (min !== null && max !== null && min > max) return `"${given}" ends before it begins.`;
  return { min, max };
}

function formatTerm(term: RolloutTerm): string {
  if ("range" in term) return `${term.field}:${formatRange(term.range, term.field === "duration")}`;
  if ("at" in term) return `${term.field}:${new Date(term.at).toISOString()}`;
  if (term.field === "label") return `label:${quote(term.name, /[\s"=\\]/)}=${quote(term.value)}`;
  if (term.field !== "text") return `${term.field}:${quote(term.value)}`;
  return quote(term.value, /[\s"\\:]|^-/);
}

function formatRange({ min, max, exclusive = false }: RolloutRange, isDuration: boolean): string {
  const show = (value: number): string => (isDuration ? `${value}ms` : `${value}`);
  if (min !== null && max !== null) return min === max ? show(min) : `${show(min)}..${show(max)}`;
  const equal = exclusive ? "" : "=";
  return min === null ? `<${equal}${show(max ?? Number.MAX_VALUE)}` : `>${equal}${show(min)}`;
}

function quote(value: string, needed = /[\s"\\]/): string {
  return value === "" || needed.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
}

/** Parts in double quotes are taken as they are, but for `\"` and `\\`. */
function unquote(text: string): string {
  return text.replace(/"((?:[^"\\]|\\.)*)"/gs, (_, inner: string) => inner.replace(/\\(.)/gs, "$1"));
}

function isOneOf<const T extends string>(list: readonly T[], one: string): one is T {
  return (list as readonly string[]).includes(one);
}
