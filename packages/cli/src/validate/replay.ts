import { checker } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import type { Check } from "openenv-ts/testing";
import { TIMEOUT_MS } from "./declarations.js";
import { SEED, seedCase } from "./semantic/cases.js";
import { openSessions, play, repeat } from "./semantic/world.js";
import type { ServerChecking } from "./validate-options.js";

export interface ReplayPair {
  /** URLs of a process and of a container of the same package. */
  first: string;
  second: string;
  /** Played with the seed and reset options of `checking`. */
  actions: readonly JsonObject[];
  /** The options of the other server checks. */
  checking: ServerChecking;
  /** The results of earlier checks: a replay is not meaningful if an episode does not repeat on one server. */
  made: readonly Check[];
}

/** The checks without which an episode does not repeat. */
export const BASIS = ["reset_resets", "episode", "seed_honoured", "workers_agree"];

/** Checks that an episode gets the same rewards on two servers. */
export function portabilityCheck({ first, second, actions, checking, made }: ReplayPair): checker.CheckDefinition {
  return {
    id: "verifier_portability",
    description: "the episode gets the same rewards in a process and in the container",
    remedy: "Compute the reward only from the episode, not from files, variables or the clock of the machine.",
    run: async () => {
      const failed = made.find(({ id, status }) => BASIS.includes(id) && status === "failed");
      if (failed !== undefined) throw new checker.CheckSkip(`${failed.id} did not pass`);
      const { reset = {}, seed = SEED, timeoutMs = TIMEOUT_MS, signal } = checking;
      const { session, close } = openSessions({ headers: {}, timeoutMs, signal });
      const player = { url: first, options: reset, session, played: [] };
      try {
        const [one, other] = await Promise.all(
          [first, second].map(async (url) => {
            const { reset: start, steps } = await play(player, seedCase(seed), repeat(actions), url);
            return JSON.stringify([start, ...steps].map(({ data }) => data["reward"] ?? null));
          }),
        );
        checker.demand(one === other, `the rewards of one episode were ${one} and ${other}`);
      } finally {
        await close();
      }
    },
  };
}
