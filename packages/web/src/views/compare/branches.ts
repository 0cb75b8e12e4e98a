import type { EpisodeRow, RolloutEvent } from "openenv-ts/protocol";
import { comparable } from "../rollouts/transcript/turn-parts.js";

/** An episode in the tree. */
export interface Branch {
  row: EpisodeRow;
  /** The number of its last event. */
  end: number;
  /** The branch that has the same beginning, and the last event that both share; null for a root. */
  from: { branch: number; step: number } | null;
  /** Its column. */
  x: number;
}

export interface ComparedEpisode {
  row: EpisodeRow;
  /** All events, or the first of a long episode. */
  events: readonly RolloutEvent[];
  eventCount: number;
}

/** The tree of episodes with shared beginnings. Each begins on the earlier one with which it shares most. */
export function branchesOf(episodes: readonly ComparedEpisode[]): Branch[] {
  const keys = episodes.map(({ events }) => events.map((event) => JSON.stringify(comparable(event))));
  const branches = episodes.map(({ row, eventCount }, at): Branch => {
    let from: Branch["from"] = null;
    for (let branch = 0; branch < at; branch++) {
      const step = sharedWith(keys[branch] ?? [], keys[at] ?? []) - 1;
      if (step >= 0 && step > (from?.step ?? -1)) from = { branch, step };
    }
    return { row, end: Math.max(0, eventCount - 1), from, x: 0 };
  });
  let column = 0;
  // Later forks are next to their branch, so that no line crosses another.
  const place = (at: number): void => {
    (branches[at] as Branch).x = column++;
    const forks = branches.flatMap(({ from }, fork) => (from?.branch === at ? [{ fork, step: from.step }] : []));
    for (const { fork } of forks.sort((one, other) => other.step - one.step)) place(fork);
  };
  for (const [at, { from }] of branches.entries()) if (from === null) place(at);
  return branches;
}

function sharedWith(a: readonly string[], b: readonly string[]): number {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return same;
}
