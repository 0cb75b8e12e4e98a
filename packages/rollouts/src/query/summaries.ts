import { ROLLOUT_OUTCOMES } from "#core/protocol/rollout-query.js";
import type { FailureRow, GroupRow, RolloutFacets, RolloutHistogram } from "#core/protocol/rollouts.js";
import type { Columns } from "./columns.js";

const BINS = 24;
const MAX_LISTED = 20;
/** Episodes of a group that its row lists. */
const MAX_DOTS = 256;

/** The failure of an episode, as the file has it. */
export interface StoredFailure {
  code: string;
  tool: string | null;
  text: string;
  message: string;
  fault: FailureRow["fault"];
}

/** `matching`: 1 for the slots that match. `failureOf` reads the failure of a slot. */
export function facetsOf(
  columns: Columns,
  matching: Uint8Array,
  failureOf: (slot: number) => StoredFailure,
): RolloutFacets {
  const { numbers, size } = columns;
  const outcomes = ROLLOUT_OUTCOMES.map(() => ({ all: 0, matching: 0 }));
  let count = 0;
  for (let slot = 0; slot < size; slot++) {
    const counted = outcomes[numbers.outcome[slot] as number];
    if (counted === undefined) continue;
    counted.all++;
    counted.matching += matching[slot] as number;
    count += matching[slot] as number;
  }
  return {
    total: size,
    matching: count,
    reward: histogram(numbers.reward, matching, size),
    steps: histogram(numbers.steps, matching, size),
    duration: histogram(numbers.duration, matching, size),
    outcomes: Object.fromEntries(ROLLOUT_OUTCOMES.map((name, index) => [name, outcomes[index]])) as never,
    failures: failuresOf(columns, matching, failureOf).slice(0, MAX_LISTED),
    runs: runsOf(columns).slice(0, MAX_LISTED),
  };
}

/** The failures of the episodes that match, the most frequent first. */
export function failuresOf(
  { numbers, words, ids, size }: Columns,
  matching: Uint8Array,
  failureOf: (slot: number) => StoredFailure,
): FailureRow[] {
  const found = new Map<number, { count: number; newest: number }>();
  let count = 0;
  for (let slot = 0; slot < size; slot++) {
    if (matching[slot] === 0) continue;
    count++;
    const key = words.error.of[slot] as number;
    if (key < 0) continue;
    const one = found.get(key);
    if (one === undefined) found.set(key, { count: 1, newest: slot });
    else {
      one.count++;
      if ((numbers.started[slot] as number) > (numbers.started[one.newest] as number)) one.newest = slot;
    }
  }
  return [...found]
    .toSorted(([, a], [, b]) => b.count - a.count)
    .map(([key, { count: own, newest }]) => {
      const { message: _, ...failure } = failureOf(newest);
      const name = words.error.texts[key] as string;
      return { key: name, ...failure, count: own, share: own / count, newest: ids[newest] as string };
    });
}

/** The groups with an episode that matches. */
export function groupsOf({ numbers, words, ids, size }: Columns, matching: Uint8Array): GroupRow[] {
  const groups = new Map<string, number[]>();
  const wanted = new Set<string>();
  for (let slot = 0; slot < size; slot++) {
    if ((words.grp.of[slot] as number) < 0) continue;
    const key = `${words.grp.of[slot]} ${words.run.of[slot]} ${numbers.policy[slot]}`;
    const slots = groups.get(key);
    if (slots === undefined) groups.set(key, [slot]);
    else slots.push(slot);
    if (matching[slot] === 1) wanted.add(key);
  }
  return [...wanted].map((key) => {
    const slots = groups.get(key) as number[];
    const [first] = slots as [number];
    const rewards = slots.map((slot) => numbers.reward[slot] as number).filter((reward) => !Number.isNaN(reward));
    const mean = rewards.length === 0 ? null : rewards.reduce((sum, one) => sum + one, 0) / rewards.length;
    const deviation =
      mean === null ? null : Math.sqrt(rewards.reduce((sum, one) => sum + (one - mean) ** 2, 0) / rewards.length);
    return {
      group: words.grp.get(first) as string,
      run: words.run.get(first),
      policy: numberOrNull(numbers.policy[first]),
      task: words.task.get(first),
      episodes: slots.slice(0, MAX_DOTS).map((slot) => ({
        id: ids[slot] as string,
        reward: numberOrNull(numbers.reward[slot]),
        outcome: ROLLOUT_OUTCOMES[numbers.outcome[slot] as number] as (typeof ROLLOUT_OUTCOMES)[number],
        matches: matching[slot] === 1,
      })),
      mean,
      deviation,
      noSignal: rewards.length > 1 && rewards.every((reward) => reward === rewards[0]),
      count: slots.length,
    };
  });
}

/** The number of a column; null where there is none. */
function numberOrNull(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

function runsOf({ numbers, words: { run }, size }: Columns): RolloutFacets["runs"] {
  const runs = run.texts.map((text) => ({ run: text, count: 0, newestAt: 0 }));
  for (let slot = 0; slot < size; slot++) {
    const one = runs[run.of[slot] as number];
    if (one === undefined) continue;
    one.count++;
    one.newestAt = Math.max(one.newestAt, numbers.started[slot] as number);
  }
  return runs.filter(({ count }) => count > 0).sort((a, b) => b.newestAt - a.newestAt);
}

function histogram(values: Float64Array, matching: Uint8Array, size: number): RolloutHistogram | null {
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let slot = 0; slot < size; slot++) {
    const value = values[slot] as number;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (min > max) return null;
  const number = min === max ? 1 : BINS;
  const width = (max - min) / number || 1;
  const bins = Array.from({ length: number }, (_, index) => ({
    from: min + index * width,
    to: index === number - 1 ? max : min + (index + 1) * width,
    all: 0,
    matching: 0,
  }));
  for (let slot = 0; slot < size; slot++) {
    const value = values[slot] as number;
    if (Number.isNaN(value)) continue;
    const bin = bins[Math.min(Math.floor((value - min) / width), number - 1)] as (typeof bins)[number];
    bin.all++;
    bin.matching += matching[slot] as number;
  }
  return { min, max, bins };
}
