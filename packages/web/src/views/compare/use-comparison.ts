import type { EpisodeRow, RolloutPage } from "openenv-ts/protocol";
import { useEffect, useState } from "react";
import { ask, isRefusal, RequestError } from "../../server/get.js";
import { queryOf } from "../rollouts/terms.js";
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
    const controller = new AbortController();
    const { signal } = controller;
    setState(NOTHING);
    const report = (value: Comparison): void => {
      if (!signal.aborted) setState({ value, problem: undefined, refused: false });
    };
    readComparison(a, b, { signal, report }).catch((error: Error) => {
      if (!signal.aborted) setState({ value: undefined, problem: error.message, refused: isRefusal(error) });
    });
    return () => controller.abort();
  }, [a, b, tries]);
  return { ...state, retry: () => setTries(tries + 1) };
}

const NOTHING = { value: undefined, problem: undefined, refused: false };

interface ReadOptions {
  signal: AbortSignal;
  report(value: Comparison): void;
}

/** Reports the two episodes first, and the tree when it is read. */
async function readComparison(a: string, b: string, { signal, report }: ReadOptions): Promise<void> {
  const [left, right] = await Promise.all([read(a, MOST_EVENTS, signal), read(b, MOST_EVENTS, signal)]);
  const both = { a: left, b: right, tree: a === b ? [left] : [left, right], hidden: 0 };
  report(both);
  // A and B can be compared without the others.
  const withOthers = await readTree(both, signal).catch(() => undefined);
  if (withOthers) report(withOthers);
}

async function readTree(both: Comparison, signal: AbortSignal): Promise<Comparison | undefined> {
  const [left, right] = [both.a.row, both.b.row];
  const { group, task } = left;
  if (group === null) return undefined;
  const query = new URLSearchParams({ q: queryOf({ group, task }), limit: "64" });
  const page = await ask<RolloutPage<EpisodeRow>>(`/rollouts?${query}`, { signal });
  const others = page.rows.filter(({ id }) => id !== left.id && id !== right.id);
  const shown: ComparedEpisode[] = [];
  // One after the other, because the server has more to do. An episode that is gone by now is left out.
  for (const { id } of others.slice(0, MOST_BRANCHES - 2)) {
    const episode = await read(id, BRANCH_EVENTS, signal).catch(() => undefined);
    if (episode) shown.push(episode);
  }
  const known = shown.length + 1 + Number(right.group === group && left.id !== right.id);
  return { ...both, tree: [...both.tree, ...shown], hidden: Math.max(0, page.total - known) };
}

async function read(id: string, most: number, signal: AbortSignal): Promise<ComparedEpisode> {
  const rollout = new Rollout(id, signal);
  const events = await rollout.first(most);
  const { detail, problem, refused } = rollout.snapshot();
  // A beginning that looks like the whole would differ from the other episode.
  if (!detail || problem !== undefined) {
    throw new RequestError(refused ? 403 : 0, `${id}: ${problem ?? "it has no events"}`);
  }
  return { row: detail.episode, events, eventCount: detail.eventCount };
}
