import { formatRolloutQuery, parseRolloutQuery, type RolloutRange, type RolloutTerm } from "openenv-ts/protocol";
import { formatClock } from "../../parts/text/format.js";

/** A term of the query text, which is shown as a chip. */
export interface Chip {
  start: number;
  end: number;
  text: string;
  /** The term in words. */
  label: string;
  /** Why it cannot be read. */
  problem: string | undefined;
}

export type RangeField = "reward" | "steps" | "duration";
type WordField = "outcome" | "error" | "run";

interface QueryValues extends Partial<Record<WordField | "group" | "task", string | null>> {
  policy?: number | null;
}

/** The terms of a query in the order of its text. `nameOf` is the text of a failure with this key. */
export function chipsOf(text: string, nameOf: (key: string) => string | undefined = () => undefined): Chip[] {
  const { terms, places, errors } = parseRolloutQuery(text);
  const chips = places.map(({ start, end }, at) => {
    const label = labelOf(terms[at] as RolloutTerm, nameOf);
    return { start, end, text: text.slice(start, end), label, problem: undefined };
  });
  const wrong = errors.map(({ start, end, term, message }) => {
    return { start, end, text: term, label: term, problem: message };
  });
  return [...chips, ...wrong].sort((a, b) => a.start - b.start);
}

/** The query without one of its terms. */
export function withoutChip(text: string, { start, end }: { start: number; end: number }): string {
  return joined(text.slice(0, start), text.slice(end));
}

export function joined(...texts: string[]): string {
  return texts
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .join(" ");
}

/** The range of a query for a number; undefined without one. */
export function rangeOf(text: string, field: RangeField): RolloutRange | undefined {
  for (const term of parseRolloutQuery(text).terms) {
    if (!term.negated && term.field === field) return term.range;
  }
  return undefined;
}

/** The query with another range for a number, or without one. */
export function withRange(text: string, field: RangeField, range: RolloutRange | undefined): string {
  const rest = withoutField(text, field);
  return range ? joined(rest, formatRolloutQuery([{ negated: false, field, range }])) : rest;
}

/** The value of a query for a field; undefined without one. */
export function wordOf(text: string, field: WordField): string | undefined {
  for (const term of parseRolloutQuery(text).terms) {
    if (!term.negated && term.field === field) return term.value;
  }
  return undefined;
}

/** The query with another value for a field, or without one. */
export function withWord(text: string, field: WordField, value: string | undefined): string {
  return joined(withoutField(text, field), queryOf({ [field]: value }));
}

/** The query for episodes with all of these values; null and undefined are not asked for. */
export function queryOf(values: QueryValues): string {
  const terms = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return formatRolloutQuery(
    terms.map(([field, value]) => ({ negated: false, field, value: String(value) }) as RolloutTerm),
  );
}

function withoutField(text: string, field: RolloutTerm["field"]): string {
  const trimmed = text.trim();
  const { terms, places } = parseRolloutQuery(trimmed);
  return places.reduceRight((rest, place, at) => {
    const term = terms[at];
    return term?.field === field && !term.negated ? withoutChip(rest, place) : rest;
  }, trimmed);
}

function labelOf(term: RolloutTerm, nameOf: (key: string) => string | undefined): string {
  return `${term.negated ? "not " : ""}${wordsOf(term, nameOf)}`;
}

function wordsOf(term: RolloutTerm, nameOf: (key: string) => string | undefined): string {
  if ("range" in term) return `${term.field} ${rangeInWords(term.range, term.field === "duration")}`;
  if ("at" in term) return `${term.field} ${new Date(term.at).toISOString().slice(0, 16).replace("T", " ")}`;
  if (term.field === "label") return `${term.name}: ${term.value}`;
  if (term.field === "error") return `failure: ${nameOf(term.value) ?? term.value}`;
  return term.field === "text" ? `“${term.value}”` : `${term.field}: ${term.value}`;
}

/** `≤ 0.1`, `2 to 5`, `> 1:30`. */
export function rangeInWords({ min, max, exclusive = false }: RolloutRange, isDuration: boolean): string {
  const show = (value: number): string => (isDuration ? formatClock(value) : String(value).replace("-", "−"));
  if (min !== null && max !== null) return min === max ? `= ${show(min)}` : `${show(min)} to ${show(max)}`;
  if (min !== null) return `${exclusive ? ">" : "≥"} ${show(min)}`;
  return `${exclusive ? "<" : "≤"} ${show(max ?? 0)}`;
}
