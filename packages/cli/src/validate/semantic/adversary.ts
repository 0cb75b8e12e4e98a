import { rng } from "openenv-ts";
import { checker } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { rewriteStrings, sampleActions, unique, variants } from "./agents.js";
import { type RewardSubject, solutionReward } from "./checks.js";
import { actionsOf, type Case, play, playEach, repeat, type StudiedEpisode, type World } from "./world.js";

/** A search for reward without success. */
export interface Search {
  seconds: number;
  seed: number;
  /** Called with an episode that was found. */
  onFound(episode: StudiedEpisode): void;
}

const LONGEST = 8;
const SAMPLES = 24;
/** The number of actions whose sequences are enumerated. */
const ENUMERATED = 16;

/** Searches for an episode that is paid like a solution and does not solve its task. */
export function adversary(subject: RewardSubject, search: Search | undefined): checker.CheckDefinition {
  return {
    id: "adversary",
    description: "a search over the action schema finds no reward without success",
    remedy: "Correct the verifier: this episode does not solve its task. It is saved as a canary.",
    run: async (note) => {
      if (search === undefined) throw new checker.NotApplicable("no search was requested: --adversary");
      const limitOf = await solutionReward(subject);
      const world = { ...subject.world, played: [] };
      const isExploit = await judge(subject, limitOf);
      const deadline = performance.now() + search.seconds * 1000;
      let [tried, best] = [0, Number.NEGATIVE_INFINITY];
      for (const next = propose(world, search.seed); performance.now() < deadline; tried++) {
        world.played.length = 0;
        const { one, actions, learn } = next();
        const episode = await play(world, one, repeat(actions));
        learn(episode);
        best = Math.max(best, episode.total);
        if (!(await isExploit(world, episode))) continue;
        const shortest = await shrink(world, episode, isExploit);
        search.onFound(shortest);
        const steps = shortest.steps.map(
          ({ request, data }) => `${checker.show(request)} -> ${checker.show(data["reward"])}`,
        );
        const found = `after ${tried + 1} episodes, with ${shortest.case.name} and without success: ${steps.join(", ")}`;
        checker.demand(false, `the reward ${shortest.total} was found ${found}`, {
          expected: { at_most: limitOf(shortest.case) },
          actual: { reward: shortest.total, actions: actionsOf(shortest) },
        });
      }
      note({ actual: { episodes: tried, best, seconds: search.seconds } });
    },
  };
}

type LimitOf = Awaited<ReturnType<typeof solutionReward>>;
type IsExploit = (world: World, episode: StudiedEpisode) => Promise<boolean>;

/**
 * Success is what the oracle's module declares in `solved`. Without it, one fixed list of actions that is paid for most
 * of the tasks, although their solutions differ, is an exploit.
 */
async function judge({ world: { oracle, cases }, solved }: RewardSubject, limitOf: LimitOf): Promise<IsExploit> {
  const isPaid = ({ case: one, total, steps }: StudiedEpisode): boolean =>
    total > limitOf(one) + 1e-9 && steps.length > 0;
  const isSolved = oracle?.solved;
  if (isSolved !== undefined) {
    return async (_, episode) => isPaid(episode) && !(await isSolved(episode.case.task, episode.state));
  }
  const solutions = new Set((await solved()).map((episode) => JSON.stringify(actionsOf(episode))));
  if (solutions.size < 2)
    throw new checker.CheckSkip(
      "all tasks have one solution, so success is unknown: export `solved(task, state)` next to `oracle`",
    );
  return async (world, episode) => {
    if (!isPaid(episode)) return false;
    const again = await playEach(world, cases, () => repeat(actionsOf(episode)));
    return again.filter(isPaid).length > cases.length / 2;
  };
}

/** Leaves out actions while the episode stays an exploit. */
async function shrink(world: World, found: StudiedEpisode, isExploit: IsExploit): Promise<StudiedEpisode> {
  let shortest = found;
  for (let at = found.steps.length - 1; at >= 0; at--) {
    const actions = actionsOf(shortest).filter((_, nth) => nth !== at);
    const shorter = await play(world, found.case, repeat(actions));
    if (await isExploit(world, shorter)) shortest = shorter;
  }
  return shortest;
}

interface Proposal {
  one: Case;
  actions: JsonObject[];
  learn(episode: StudiedEpisode): void;
}

/** Proposes lists of actions: all short ones of the simplest actions, random ones, and changes of the best ones. */
function propose({ offered, accepts, cases }: World, seed: number): () => Proposal {
  const random = rng(seed);
  const sampled = [...variants(offered), ...sampleActions(offered, SAMPLES, seed)];
  const pool = unique(sampled.flatMap((action) => [action, rewriteStrings(action, "", accepts)]));
  const short = enumerate(pool.slice(0, ENUMERATED));
  /** Episodes that were better than those before, or showed something new. */
  const kept: { actions: JsonObject[]; total: number }[] = [];
  const known = new Set<string>();
  const learn = (episode: StudiedEpisode): void => {
    const last = episode.steps.at(-1)?.data;
    const shown = JSON.stringify([
      Object.keys((last?.["observation"] ?? {}) as JsonObject),
      last?.["reward"],
      episode.state,
    ]);
    const isBetter = episode.total > (kept[0]?.total ?? 0);
    if (!isBetter && known.has(shown)) return;
    known.add(shown);
    kept.push({ actions: actionsOf(episode), total: episode.total });
    kept.sort((a, b) => b.total - a.total);
    kept.length = Math.min(kept.length, 32);
  };
  let turn = 0;
  return () => {
    const one = random.pick([...cases]);
    const way = turn++ % 3;
    const next = way === 0 ? short.next() : undefined;
    if (next !== undefined && !next.done) return { one, actions: next.value, learn };
    const base = way === 1 && kept.length > 0 ? random.pick(kept).actions : [];
    const more = Array.from({ length: random.int(1, LONGEST) }, () => random.pick(pool));
    return { one, actions: [...base.slice(0, random.int(0, base.length)), ...more].slice(0, LONGEST), learn };
  };
}

/** All lists of one action, then all of two, and so on. */
function* enumerate(pool: readonly JsonObject[]): Generator<JsonObject[]> {
  for (let length = 1, lists: JsonObject[][] = [[]]; length <= 3; length++) {
    lists = lists.flatMap((list) => pool.map((action) => [...list, action]));
    yield* lists;
  }
}
