import type { RolloutEvent } from "openenv-ts/protocol";
import type { Diff } from "../../play/diff.js";
import { diffEvents } from "../rollouts/transcript/turn-parts.js";
import type { ComparedEpisode } from "./branches.js";

/** The events of one number in two episodes; undefined where an episode has ended. */
export interface Pair {
  number: number;
  a: RolloutEvent | undefined;
  b: RolloutEvent | undefined;
  /** The paths that differ; undefined where one has ended. */
  diff: Diff | undefined;
}

/** A line of the comparison: equal steps as one, or a step side by side. */
export type CompareRow = { kind: "equal"; from: number; to: number } | { kind: "pair"; pair: Pair };

/** Aligns two episodes by the numbers of their events. */
export function align(a: readonly RolloutEvent[], b: readonly RolloutEvent[]): Pair[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, number) => {
    const [left, right] = [a[number], b[number]];
    return { number, a: left, b: right, diff: left && right ? diffEvents(left, right) : undefined };
  });
}

function isDifferent({ diff }: Pair): boolean {
  return diff === undefined || diff.changes.length > 0;
}

/** The number of the nearest step that differs, after or before one; undefined for none. */
export function nextDifference(pairs: readonly Pair[], from: number, direction: 1 | -1): number | undefined {
  for (let at = from + direction; at >= 0 && at < pairs.length; at += direction) {
    const pair = pairs[at];
    if (pair && isDifferent(pair)) return at;
  }
  return undefined;
}

/** The lines: equal steps are folded unless they are shown. */
export function rowsOf(pairs: readonly Pair[], showsEqual: boolean): CompareRow[] {
  const rows: CompareRow[] = [];
  for (const pair of pairs) {
    const last = rows.at(-1);
    if (showsEqual || isDifferent(pair)) rows.push({ kind: "pair", pair });
    else if (last?.kind === "equal") last.to = pair.number;
    else rows.push({ kind: "equal", from: pair.number, to: pair.number });
  }
  return rows;
}

/** What two episodes have in common, and what makes them less comparable. */
export function conditionsOf(left: ComparedEpisode, right: ComparedEpisode): { facts: string[]; warnings: string[] } {
  const [a, b] = [left.row, right.row];
  const facts: string[] = [];
  const warnings: string[] = [];
  const named = (what: string, [x, y]: readonly [unknown, unknown], differ: string): void => {
    if (x === y && x !== null) facts.push(`same ${what} ${String(x)}`);
    else if (x !== y) warnings.push(differ);
  };
  named(
    "task",
    [a.task, b.task],
    `The tasks differ: ${a.task ?? "none"} and ${b.task ?? "none"}. Steps are aligned by number only.`,
  );
  named(
    "seed",
    [a.seed, b.seed],
    `The seeds differ: ${a.seed ?? "none"} and ${b.seed ?? "none"}. Steps are aligned by number only.`,
  );
  const [old, now] = [`${a.env} ${a.version}`, `${b.env} ${b.version}`];
  named("environment", [old, now], `A was played in ${old}, B in ${now}. A difference may come from the environment.`);
  if (a.policy !== null && b.policy !== null && a.policy !== b.policy) {
    facts.push(`policies of step ${a.policy} and step ${b.policy}`);
  }
  for (const [name, { events, eventCount }] of Object.entries({ A: left, B: right })) {
    if (events.length < eventCount) {
      warnings.push(`Only the first ${events.length.toLocaleString("en")} events of ${name} are compared.`);
    }
  }
  return { facts, warnings };
}

/** `Reset and steps 1 to 2 are equal`. */
export function equalInWords(from: number, to: number): string {
  const steps = (first: number): string => (first === to ? `step ${to}` : `steps ${first} to ${to}`);
  if (from > 0)
    return `${from === to ? "Step" : "Steps"} ${steps(from).replace(/^steps? /, "")} ${from === to ? "is" : "are"} equal`;
  return to === 0 ? "The reset is equal" : `Reset and ${steps(1)} are equal`;
}

export function nameOf(number: number): string {
  return number === 0 ? "Reset" : `Step ${number}`;
}
