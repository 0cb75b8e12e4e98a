import { ROLLOUT_OUTCOMES, type RolloutTerm } from "#core/protocol/rollout-query.js";
import type { Columns, Words } from "./columns.js";

/** Returns 1 for each slot with these words. */
type Search = (text: string) => Uint8Array;
type Matches = (slot: number) => boolean;

/** What a term asks of an episode. */
export function matchesOf(terms: readonly RolloutTerm[], columns: Columns, search: Search): Matches {
  const all = terms.map((term) => {
    const matches = matchesTerm(term, columns, search);
    return term.negated ? (slot: number) => !matches(slot) : matches;
  });
  return (slot) => all.every((matches) => matches(slot));
}

function matchesTerm(term: RolloutTerm, columns: Columns, search: Search): Matches {
  const { numbers, words, ids } = columns;
  if ("range" in term) {
    const { min, max, exclusive = false } = term.range;
    const values = numbers[term.field];
    const [low, high] = [min ?? Number.NEGATIVE_INFINITY, max ?? Number.POSITIVE_INFINITY];
    return exclusive
      ? (slot) => (values[slot] as number) > low && (values[slot] as number) < high
      : (slot) => (values[slot] as number) >= low && (values[slot] as number) <= high;
  }
  if ("at" in term) {
    const { at } = term;
    return term.field === "after"
      ? (slot) => (numbers.started[slot] as number) >= at
      : (slot) => (numbers.started[slot] as number) < at;
  }
  const { value } = term;
  if (term.field === "outcome") {
    const wanted = ROLLOUT_OUTCOMES.indexOf(value as "done");
    return (slot) => numbers.outcome[slot] === wanted;
  }
  if (term.field === "id") return (slot) => ids[slot] === value;
  if (term.field === "text") {
    const found = search(value);
    return (slot) => found[slot] === 1;
  }
  if (term.field === "label") {
    const { name } = term;
    return inWords(words.labels, (text) => Object.is((JSON.parse(text) as Record<string, string>)[name], value));
  }
  if (term.field === "tool") return inWords(words.tools, (text) => (JSON.parse(text) as string[]).includes(value));
  return inWords(words[term.field === "group" ? "grp" : term.field], (text) => text === value);
}

/** Asks each text once, and not each episode. */
function inWords(words: Words, matches: (text: string) => boolean): Matches {
  const found = words.texts.map(matches);
  return (slot) => found[words.of[slot] as number] === true;
}
