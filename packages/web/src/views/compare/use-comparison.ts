import type { EpisodeRow, RolloutPage } from "openenv-ts/protocol";
import { useEffect, useState } from "react";
import { ask, isRefusal, RequestError } from "../../server/get.js";
import { Rollout } from "../rollouts/transcript/rollout.js";
import type { ComparedEpisode } from "./branches.js";

/** Two episodes, and those with the same beginning. */
export interface Comparison {
  a: ComparedEpisode;
  b: ComparedEpisode;
  /** A and B, then others of the group; only A and B until those are read. */
  tree: ComparedEpisode[];
  /** Episodes of the group that are not in the tree. */
  hidden: number;
}

export interface ComparisonState {
  value: Comparison | undefined;
  problem: string | undefined;
  refused: boolean;
  retry(): void;
}

/** The most events of an episode that are compared. */
const MOST_EVENTS = 20_000;
const MOST_BRANCHES = 12;
/** The most events that are read of the other episodes. */
const BRANCH_EVENTS = 200;

export function useComparison(a: string, b: string): ComparisonState {
  const [state, setState] = useState<Omit<ComparisonState, "retry">>(NOTHING);
  const [tries, setTries] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another try reads again
  useEffect(() => {
    let isOver = false;
    setState(NOTHING);
    readComparison(a, b, (value) => {
      if (!isOver) setState({ value, problem: undefined, refused: false });
    }).catch((error: Error) => {
      if (!isOver) setState({ value: undefined, problem: error.message, refused: isRefusal(error) });
    });
    return () => {
      isOver = true;
    };
  }, [a, b, tries]);
  return { ...state, retry: () => setTries(tries + 1) };
}

const NOTHING = { value: undefined, problem: undefined, refused: false };

/** Reports the two episodes first, and the tree when it is read. */
async function readComparison(a: string, b: string, report: (value: Comparison) => void): Promise<void> {
  const [left, right] = await Promise.all([read(a, MOST_EVENTS), read(b, MOST_EVENTS)]);
  const both = { a: left, b: right, tree: a === b ? [left] : [left, right], hidden: 0 };
  report(both);
  const { group, task } = left.row;
  if (group === null) return;
  const q = `group:${JSON.stringify(group)}${task === null ? "" : ` task:${JSON.stringify(task)}`}`;
  const page = await ask<RolloutPage<EpisodeRow>>(`/rollouts?${new URLSearchParams({ q, limit: "64" })}`);
  const others = page.rows.filter(({ id }) => id !== a && id !== b);
  const shown: ComparedEpisode[] = [];
  // One after the other, because the server has more to do. An episode that is gone by now is left out.
  for (const { id } of others.slice(0, MOST_BRANCHES - 2)) {
    const episode = await read(id, BRANCH_EVENTS).catch(() => undefined);
    if (episode) shown.push(episode);
  }
  const known = shown.length + 1 + Number(right.row.group === group && a !== b);
  report({ ...both, tree: [...both.tree, ...shown], hidden: Math.max(0, page.total - known) });
}

async function read(id: string, most: number): Promise<ComparedEpisode> {
  const rollout = new Rollout(id);
  const events = await rollout.first(most);
  const { detail, problem, refused } = rollout.snapshot();
  if (!detail) throw new RequestError(refused ? 403 : 0, `${id}: ${problem ?? "it has no events"}`);
  return { row: detail.episode, events, eventCount: detail.eventCount };
}
