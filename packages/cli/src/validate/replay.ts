import { connect } from "openenv-ts/client";
import { checker, findDifference, playEpisode } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import type { Check } from "openenv-ts/testing";
import type { ServerChecking } from "./validate-options.js";

export interface ReplayPair {
  /** URLs of two servers of the same package. */
  first: string;
  second: string;
  /** Played with the seed and reset options of `checking`. */
  actions: readonly JsonObject[];
  /** The options of the other server checks. */
  checking: ServerChecking;
  /** The results of earlier checks: a replay is not meaningful if an episode does not repeat on one server. */
  made: readonly Check[];
}

/** Number of runs of the episode on each server to compare the rewards. */
const PLAYS = 3;
const SEED = 7;
const BASIS = ["seed_honoured", "workers_agree", "episode"];

/** Checks that an episode recorded on one server gives the same results on another. */
export function replayChecks(replay: ReplayPair): checker.CheckDefinition[] {
  return [
    {
      id: "replayability",
      description: "an episode recorded on one server gives the same results on another",
      remedy: "Let only the seed and the actions determine the episode; list other fields in validation.varies.",
      run: async () => {
        demandRepeats(replay);
        const recorded = JSON.parse(JSON.stringify(await playOn(replay, replay.first))) as unknown;
        const { ignore = [] } = replay.checking;
        const isIgnored = (path: string): boolean => ignore.includes(path.replace(/^\d+\./, ""));
        const found = findDifference(recorded, await playOn(replay, replay.second), isIgnored);
        const difference = found && `${found.path}: ${checker.show(found.one)} and ${checker.show(found.other)}`;
        checker.demand(difference === undefined, `the first difference of the replay is ${difference}`);
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
export function portabilityCheck(replay: ReplayPair): checker.CheckDefinition {
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
  checker.demand(other === undefined, `the rewards of one episode were ${seen[0]} and ${other}`);
}

function demandRepeats({ made }: ReplayPair): void {
  const failed = made.find(({ id, status }) => BASIS.includes(id) && status === "failed");
  if (failed !== undefined) throw new checker.CheckSkip(`${failed.id} did not pass`);
}

async function playOn({ actions, checking }: ReplayPair, url: string): ReturnType<typeof playEpisode> {
  const { reset = {}, seed = SEED, timeoutMs, signal } = checking;
  const options = { check: false, ...(timeoutMs !== undefined && { timeoutMs }), ...(signal && { signal }) };
  await using env = await connect(url, options);
  return await playEpisode(env, { ...reset, seed }, actions);
}
