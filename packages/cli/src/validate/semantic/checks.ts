import { checker, findDifference } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { agents, rewriteStrings } from "./agents.js";
import { SEED, seedCase, unknownReward } from "./cases.js";
import {
  actionsOf,
  type Case,
  meanTotal,
  paidAction,
  play,
  playEach,
  repeat,
  reset,
  rewardOf,
  type StudiedEpisode,
  type World,
} from "./world.js";

/** What the checks share: the world, and the episodes of its oracle. */
export interface RewardSubject {
  world: World;
  /** @throws CheckSkip without an oracle, CheckBroken when it fails. */
  solved(): Promise<StudiedEpisode[]>;
}

type Definition = checker.CheckDefinition;

/** The episodes that are repeated: those of the oracle, else one of sampled actions. */
async function firstPlayed({ world, solved }: RewardSubject): Promise<StudiedEpisode[]> {
  const { oracle, plan } = world;
  // An oracle that fails is the error of oracle_max.
  const episodes = oracle && (await solved().catch(() => undefined));
  return episodes ?? [await play(world, plan.one, repeat(plan.actions))];
}

/** Plays an episode again. */
async function replay(world: World, first: StudiedEpisode, at = world.url): Promise<StudiedEpisode> {
  return await play(world, first.case, repeat(actionsOf(first)), at);
}

export function repeats(subject: RewardSubject): Definition[] {
  const { world } = subject;
  const { declared } = world;
  return [
    {
      id: "verifier_determinism",
      description: "the same episode gets the same rewards each time",
      remedy:
        "Compute the reward only from the episode, or declare how far it varies: validation.reward.variance_tolerance.",
      run: async (note) => {
        let spread = 0;
        const replays = declared.variance > 0 ? declared.replays : 3;
        for (const first of await firstPlayed(subject)) {
          const seen = [first.total];
          for (let nth = 0; nth < replays; nth++) {
            const again = await replay(world, first, nth % 2 === 0 ? world.url : world.other);
            seen.push(again.total);
            const [before, now] = [rewardsOf(first), rewardsOf(again)].map((list) => JSON.stringify(list));
            const differs = declared.variance === 0 && before !== now;
            checker.demand(!differs, `with ${first.case.name} the rewards of one episode were ${before} and ${now}`);
          }
          spread = Math.max(spread, Math.max(...seen) - Math.min(...seen));
        }
        const facts = { expected: declared.variance, actual: spread };
        checker.demand(
          spread <= declared.variance + 1e-9,
          `equal episodes differ in their reward by ${spread}, more than the declared ${declared.variance}`,
          facts,
        );
        note(facts);
      },
    },
    {
      id: "replayability",
      description: "an episode recorded on one server gives the same results on another",
      remedy: "Let only the seed and the actions determine the episode; list other fields in validation.varies.",
      run: async () => {
        for (const first of await firstPlayed(subject)) {
          const found = difference(world, first, await replay(world, first, world.other));
          checker.demand(found === undefined, `with ${first.case.name} the first difference of the replay is ${found}`);
        }
      },
    },
  ];
}

/** The same seed starts the same episode, and where an oracle shows it, other seeds give others. */
export function seedHonoured(subject: RewardSubject): Definition {
  const { world } = subject;
  const { declared } = world;
  return {
    id: "seed_honoured",
    description: "the seed decides the episode",
    remedy: "Take all randomness from the seed of the reset (context.rng), or declare `seeded: false`.",
    run: async () => {
      if (declared.seeded === false) throw new checker.NotApplicable("the environment declares `seeded: false`");
      for (const one of world.cases) {
        const [idle, again] = await playEach(world, [one, one], () => repeat([]));
        const found = difference(world, idle as StudiedEpisode, again as StudiedEpisode);
        checker.demand(found === undefined, `two resets with ${one.name} differ first in ${found}`);
      }
      const session = await world.session(world.url);
      const isPlayable = !(await reset(world, seedCase(SEED), session)).failed;
      if (declared.seeded !== true || world.oracle === undefined || !isPlayable)
        throw new checker.NotApplicable("needs an oracle, `seeded: true`, and a reset without a task");
      const [basis] = (await firstPlayed(subject)).map(actionsOf);
      const [first, ...others] = await playEach(world, SEEDS.map(seedCase), () => repeat(basis ?? []));
      const shows = others.some((other) => difference(world, first as StudiedEpisode, other) !== undefined);
      const range = `${SEEDS[0]} to ${SEEDS.at(-1)}`;
      checker.demand(shows, `seeds ${range} all give the same episode: the seed has no effect`);
    },
  };
}

const SEEDS = Array.from({ length: 12 }, (_, nth) => SEED + nth);

export function isolated(subject: RewardSubject): Definition {
  const { world } = subject;
  return {
    id: "isolated",
    description: "an episode is the same while another session plays",
    remedy: "Keep the data of a session inside the factory, not in the module.",
    run: async () => {
      const [one, other = one] = await firstPlayed(subject);
      if (one === undefined || other === undefined) throw new checker.CheckSkip("no episode was played");
      await world.session(world.url);
      const busy = await openBusy(world);
      const [actions, others] = [actionsOf(one), actionsOf(other)];
      const again = await play(world, one.case, async ({ step }) => {
        const action = actions[step];
        if (step === 0) await reset(world, other.case, busy);
        if (action !== undefined) await busy.ask("step", others[step % others.length] ?? action);
        return action;
      });
      const found = difference(world, one, again);
      checker.demand(found === undefined, `another session changed ${found}`);
    },
  };
}

async function openBusy(world: World): ReturnType<World["session"]> {
  try {
    return await world.session(world.url, "busy");
  } catch (error) {
    if (error instanceof checker.CheckBroken)
      throw new checker.NotApplicable("the server accepts one session at a time");
    throw error;
  }
}

export function floors(subject: RewardSubject): Definition[] {
  const { world, solved } = subject;
  const { declared } = world;
  return [
    {
      id: "oracle_max",
      description: "the oracle reaches the maximum of every task",
      remedy: "Correct the verifier, or the oracle, or declare the reachable maximum: validation.reward.range.",
      run: async (note) => {
        const episodes = await solved();
        const totals = scores(episodes);
        if (declared.range === undefined)
          throw new checker.CheckSkip("it is unknown without a declared maximum: --package");
        const least = declared.range[1] - declared.tolerance;
        const facts = { expected: { at_least: least }, actual: totals };
        note(facts);
        const short = episodes.filter(({ total }) => total < least - 1e-9);
        const [first] = short;
        const what = first && `${first.case.name} gave ${first.total} after ${first.steps.length} steps`;
        checker.demand(first === undefined, `${short.length} of ${episodes.length} below ${least}: ${what}`, facts);
      },
    },
    {
      id: "floor_gap",
      description: "doing nothing earns less than the oracle by the declared margin",
      remedy: "Give no reward at the reset, or correct validation.reward.floor_margin.",
      run: async (note) => {
        const best = await solved();
        const idle = await playEach(world, world.cases, () => repeat([]));
        const facts = { expected: { margin: declared.margin }, actual: { oracle: scores(best), idle: scores(idle) } };
        note(facts);
        for (const [nth, { case: one, total }] of idle.entries()) {
          const gap = (declared.range?.[1] ?? best[nth]?.total ?? 0) - total;
          const what = `with ${one.name} the oracle's maximum exceeds the idle reward by only ${gap}`;
          checker.demand(gap >= declared.margin - 1e-9, what, facts);
        }
      },
    },
    {
      id: "trivial_floor",
      description: "random, empty, repeated and copied actions earn less than the oracle by the declared margin",
      remedy: "Judge what the agent achieved; an empty, random or copied answer must earn the reward of doing nothing.",
      run: async (note) => {
        const best = await solved();
        const limit = meanTotal(best) - declared.margin;
        const earned: Record<string, number> = {};
        const paid: string[] = [];
        for (const [name, choose] of Object.entries(agents(world))) {
          const episodes = await playEach(world, world.cases, choose);
          const mean = meanTotal(episodes);
          earned[name] = mean;
          const one = await findExploit(subject, name, episodes);
          if (mean > limit + 1e-9) paid.push(`${name} actions earn ${mean}`);
          else if (one !== undefined) paid.push(`${name} actions earn ${one.total} with ${one.case.name}`);
        }
        const facts = { expected: { at_most: limit }, actual: earned };
        note(facts);
        checker.demand(paid.length === 0, `${paid.join(", ")}, and the oracle ${meanTotal(best)}`, facts);
      },
    },
  ];
}

/** The agents that do the same for each task, and the actions of theirs that are no lucky choice. */
const FIXED: Record<string, RegExp> = { empty: /:(""|0)[,}\]]/, repeated: /./ };

/** The episode of such an agent that is paid for a task which it does not solve. */
async function findExploit({ world, solved }: RewardSubject, name: string, episodes: readonly StudiedEpisode[]) {
  const { declared, oracle } = world;
  for (const [nth, best] of (await solved()).entries()) {
    const episode = episodes[nth] as StudiedEpisode;
    const [action, answer] = [episode, best].map((one) => JSON.stringify(paidAction(one)));
    const isPaid = episode.total > best.total - declared.margin + 1e-9;
    // The same action may be the answer of one of the tasks.
    if (!isPaid || action === answer || !FIXED[name]?.test(action as string)) continue;
    if (!(await oracle?.solved?.(episode.case.task, episode.state))) return episode;
  }
  return undefined;
}

export function afterDone({ world }: RewardSubject): Definition {
  return {
    id: "reward_after_done",
    description: "steps after the end of an episode earn nothing",
    remedy: "Return the reward 0 from every step after done.",
    run: async () => {
      const done = world.played.find((episode) => episode.done && episode.steps.length > 0);
      if (done === undefined) throw new checker.NotApplicable("no episode reached its end");
      await replay(world, done);
      const session = await world.session(world.url);
      const last = actionsOf(done).at(-1) as JsonObject;
      let more = 0;
      // An environment may refuse these steps with an error, so they are not recorded as steps of an episode.
      for (const action of [last, rewriteStrings(last, "", world.accepts), last])
        more += rewardOf(await session.ask("step", action));
      checker.demand(more === 0, `with ${done.case.name} three steps after done earned ${more}`, {
        expected: 0,
        actual: more,
      });
    },
  };
}

/** The rewards of all episodes so far; the last check of all. */
export function wellFormed({ played, declared }: World): Definition {
  const [low, high] = declared.range ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  return {
    id: "rewards",
    description: "every reward of every played episode is a finite number in the declared range",
    remedy: "Return a finite number in validation.reward.range from every step.",
    run: async (note) => {
      let seen = 0;
      for (const { case: one, steps, refused } of played) {
        const thrown = refused.find(({ data }) => data["code"] === "EXECUTION_ERROR");
        const message = thrown && `${checker.show(thrown.request)} failed: ${String(thrown.data["message"])}`;
        checker.demand(thrown === undefined, `with ${one.name} the step ${message}`);
        for (const [nth, { data }] of steps.entries()) {
          const { reward } = data;
          const fits = typeof reward === "number" && Number.isFinite(reward) && reward >= low && reward <= high;
          const place = `step ${nth + 1} with ${one.name}`;
          checker.demand(
            fits,
            `${place} returned the reward ${String(reward)}, expected a number from ${low} to ${high}`,
          );
          seen++;
          if (data["done"] === true) break;
        }
      }
      note({ actual: { rewards: seen } });
    },
  };
}

function scores(episodes: readonly StudiedEpisode[]): Record<string, number> {
  return Object.fromEntries(episodes.map(({ case: one, total }) => [one.name, total]));
}

function rewardsOf({ steps }: StudiedEpisode): unknown[] {
  return steps.map(({ data }) => data["reward"] ?? null);
}

/** The first difference between what two episodes answered. */
function difference({ declared }: World, one: StudiedEpisode, other: StudiedEpisode): string | undefined {
  const ignored = [...declared.ignore, ...(declared.variance > 0 ? ["reward"] : [])];
  const isIgnored = (path: string): boolean => ignored.includes(path.replace(/^\d+\./, ""));
  const [before, now] = [one, other].map(({ reset: start, steps }) => [start, ...steps].map(({ data }) => data));
  const found = findDifference(before, now, isIgnored);
  return found && `${found.path}: ${checker.show(found.one)} and ${checker.show(found.other)}`;
}

/** The reward of a task that only a solution may get. @throws CheckSkip when it is unknown. */
export async function solutionReward({ world, solved }: RewardSubject): Promise<(one: Case) => number> {
  const { declared, oracle } = world;
  if (oracle === undefined) {
    const { range } = declared;
    if (range === undefined) throw unknownReward(world);
    return () => range[1] - declared.margin;
  }
  const best = await solved();
  const totals = new Map(best.map(({ case: one, total }) => [placeOf(one), total]));
  return (one) => (totals.get(placeOf(one)) ?? meanTotal(best)) - declared.margin;
}

/** The task, or the seed. */
function placeOf({ reset: { split, index, seed } }: Case): string {
  return JSON.stringify(index === undefined ? seed : [split, index]);
}
