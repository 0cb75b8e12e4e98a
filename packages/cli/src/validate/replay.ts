import { connect } from "openenv-ts/client";
import {
  type CheckDefinition,
  type CheckedEpisode,
  type CheckServerOptions,
  CheckSkip,
  DEFAULT_SEED,
  demand,
  differenceOf,
  type EpisodePlayer,
  play,
  withSession,
} from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import type { Check } from "openenv-ts/testing";

export interface ReplayPair {
  /** URLs of two servers of the same package. */
  first: string;
  second: string;
  /** Played with the seed and reset options of `checking`. */
  actions: readonly JsonObject[];
  /** The options of the other server checks. */
  checking: CheckServerOptions;
  /** The results of earlier checks: a replay is not meaningful if an episode does not repeat on one server. */
  made: readonly Check[];
}

/** Number of runs of the episode on each server to compare the rewards. */
const PLAYS = 3;
const BASIS = ["seed_honoured", "workers_agree", "episode"];

/** Checks that an episode recorded on one server gives the same results on another. */
export function replayChecks(replay: ReplayPair): CheckDefinition[] {
  return [
    {
      id: "replayability",
      description: "an episode recorded on one server gives the same results on another",
      remedy: "Let only the seed and the actions determine the episode; list other fields in validation.varies.",
      run: async () => {
        demandRepeats(replay);
        const recorded = JSON.parse(JSON.stringify(await playOn(replay, replay.first))) as CheckedEpisode;
        const difference = differenceOf(playerOf(replay, replay.second), recorded, await playOn(replay, replay.second));
        demand(difference === undefined, `the first difference of the replay is ${difference}`);
      },
    },
    {
      id: "verifier_determinism",
      description: "the same episode gets the same rewards each time",
      remedy: "Compute the reward only from the episode.",
      run: () => compareRewards(replay, PLAYS),
    },
  ];
}

/** `first` is a process, `second` the container. */
export function portabilityCheck(replay: ReplayPair): CheckDefinition {
  return {
    id: "verifier_portability",
    description: "the episode gets the same rewards in a process and in the container",
    remedy: "Compute the reward only from the episode, not from files, variables or the clock of the machine.",
    run: () => compareRewards(replay, 1),
  };
}

async function compareRewards(replay: ReplayPair, plays: number): Promise<void> {
  demandRepeats(replay);
  const urls = Array.from({ length: plays }, () => [replay.first, replay.second]).flat();
  const seen: string[] = [];
  for (const url of urls) seen.push(JSON.stringify((await playOn(replay, url)).map(({ reward }) => reward)));
  const other = seen.find((rewards) => rewards !== seen[0]);
  demand(other === undefined, `the rewards of one episode were ${seen[0]} and ${other}`);
}

function demandRepeats({ made }: ReplayPair): void {
  const failed = made.find(({ id, status }) => BASIS.includes(id) && status === "failed");
  if (failed !== undefined) throw new CheckSkip(`${failed.id} did not pass`);
}

function playOn(replay: ReplayPair, url: string): Promise<CheckedEpisode> {
  const player = playerOf(replay, url);
  return withSession(player, (env) => play(player, env, player.seed));
}

function playerOf({ actions, checking }: ReplayPair, url: string): EpisodePlayer {
  const { reset = {}, seed = DEFAULT_SEED, ignore = [], seeded, timeoutMs, signal } = checking;
  const options = { check: false, ...(timeoutMs !== undefined && { timeoutMs }), ...(signal && { signal }) };
  return { open: () => connect(url, options), actions, reset, seed, seeded, ignore };
}
