import type { EnvClient } from "../../client/env-client.js";
import { RemoteError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { firstDifference } from "../../util/first-difference.js";
import { CheckSkip, demand, NotApplicable } from "../report.js";
import { type CheckedEpisode, playEpisode } from "./episode.js";

/** Plays episodes of an environment, over a socket or in this process. */
export interface EpisodePlayer {
  open(): Promise<EnvClient>;
  actions: readonly JsonObject[];
  /** The reset options that the contract declares. */
  reset: JsonObject;
  seed: number;
  /** True: the seed decides the episode. False: it does not. Undefined: unknown. */
  seeded: boolean | undefined;
  /** Paths that differ by nature, such as `observation.seen_at`. */
  ignore: readonly string[];
  /** Set by {@link seedHonoured} when one seed gives one episode. */
  repeats?: boolean;
  /** Why the actions do not show what the seed decides. */
  unshown?: string;
}

export const DEFAULT_SEED = 7;
/** The number of other seeds that are tried before the actions count as independent of the seed. */
const OTHER_SEEDS = 5;

export const UNSEEDED = "the environment does not declare `seeded: true`";
const BY_NATURE = "the environment declares `seeded: false`";

export const ADVICE = {
  isolated: "Keep the data of a session inside the factory, not in the module.",
  resetResets: "Set every field of the environment in reset, not only in the factory.",
  seeded:
    "Take all randomness from context.rng; do not use the clock or Math.random. If the seed cannot decide the episode, declare `seeded: false`.",
  silent: "Settle every promise, give outside requests a time limit, and observe context.signal.",
} as const;

export async function withSession<T>({ open }: EpisodePlayer, use: (env: EnvClient) => Promise<T>): Promise<T> {
  await using env = await open();
  return await use(env);
}

export function play(player: EpisodePlayer, env: EnvClient, seed: number): Promise<CheckedEpisode> {
  return playEpisode(env, { ...player.reset, seed }, player.actions);
}

/** Plays another session while one waits. */
export async function isolated(player: EpisodePlayer): Promise<void> {
  await withSession(player, async (quiet) => {
    await using busy = await openSecond(player);
    await quiet.reset({ ...player.reset, seed: player.seed, episodeId: "quiet" });
    const before = await quiet.state();
    await play(player, busy, player.seed + 1);
    const difference = firstDifference(before, await quiet.state());
    demand(difference === undefined, `another session changed ${difference}`);
  });
}

/** @throws CheckSkip when no second session can be opened. */
async function openSecond({ open }: EpisodePlayer): Promise<EnvClient> {
  try {
    return await open();
  } catch (error) {
    if (isFull(error)) throw new NotApplicable("the server accepts only one session at a time");
    throw error;
  }
}

export function isFull(error: unknown): error is RemoteError {
  return error instanceof RemoteError && error.wireCode === "CAPACITY_REACHED";
}

export async function resetResets(player: EpisodePlayer): Promise<void> {
  await withSession(player, async (env) => {
    const options = { ...player.reset, seed: player.seed, episodeId: "same" };
    const begin = async () => ({ ...(await env.reset(options)), state: await env.state() });
    const first = await begin();
    for (const action of player.actions) if ((await env.step(action)).done) break;
    const second = await begin();
    demand(second.state.step_count === 0, `step_count is ${second.state.step_count} after a reset`);
    demand(!second.done, "the second reset returned done");
    if (player.seeded === false) return;
    const isIgnored = (path: string): boolean => player.ignore.includes(`observation.${path}`);
    const difference = firstDifference(first.observation, second.observation, isIgnored);
    demand(difference === undefined, `after a reset with the same seed the observation differs in ${difference}`);
  });
}

/**
 * Plays two sessions with the same seed, then others with other seeds. If all give the same episode, it is unknown
 * whether the seed decides it: the check neither fails nor passes.
 */
export async function seedHonoured(player: EpisodePlayer): Promise<void> {
  if (player.seeded === false) throw new NotApplicable(BY_NATURE);
  const fresh = (seed: number): Promise<CheckedEpisode> => withSession(player, (env) => play(player, env, seed));
  const { seed } = player;
  const reference = await fresh(seed);
  const difference = differenceOf(player, reference, await fresh(seed));
  demand(difference === undefined, `two episodes with seed ${seed} and the same actions differ first in ${difference}`);
  player.repeats = true;
  if (await seedShows(player, reference)) return;
  player.unshown =
    `these actions do not show what the seed decides: seeds ${seed} to ${seed + OTHER_SEEDS} all give the same episode. ` +
    "Give other actions: --actions, or the option `actions`";
  throw player.seeded === true ? new CheckSkip(player.unshown) : new NotApplicable(player.unshown);
}

async function seedShows(player: EpisodePlayer, reference: CheckedEpisode): Promise<boolean> {
  return await withSession(player, async (env) => {
    for (let nth = 1; nth <= OTHER_SEEDS; nth++) {
      if (differenceOf(player, reference, await play(player, env, player.seed + nth)) !== undefined) return true;
    }
    return false;
  });
}

/** The first difference of two episodes, such as `3.observation.rolled: 1 and 2`: in the answer to the third step. */
export function differenceOf(
  { ignore }: EpisodePlayer,
  one: CheckedEpisode,
  other: CheckedEpisode,
): string | undefined {
  return firstDifference(one, other, (path) => ignore.includes(path.replace(/^\d+\./, "")));
}
