import { checker } from "openenv-ts/internal";
import { EPISODE_FORMAT, type JsonObject } from "openenv-ts/protocol";
import { openEpisodeFile, readEpisodes } from "../../collect/episode-file.js";
import { type RewardSubject, solutionReward } from "./checks.js";
import { actionsOf, play, repeat, type StudiedEpisode } from "./world.js";

/** Plays the recorded episodes of a file, which must not be paid. */
export function canaryFloor(subject: RewardSubject, file: string | undefined): checker.CheckDefinition {
  const { world } = subject;
  return {
    id: "canary_floor",
    description: "recorded episodes that once exploited the reward earn less than the oracle by the declared margin",
    remedy: "Correct the verifier, which pays an episode that does not solve its task, or the file.",
    run: async (note) => {
      if (file === undefined)
        throw new checker.NotApplicable("the package declares no validation.capabilities.canaries");
      const limitOf = await solutionReward(subject);
      const totals: number[] = [];
      for (const { line, record } of readEpisodes(file)) {
        const { episode_id: _, ...reset } = record.reset;
        const one = { name: `canary ${line}`, task: {}, reset };
        const { total } = await play(world, one, repeat(record.steps.map(({ action }) => action)));
        totals.push(total);
        const limit = limitOf(one);
        const facts = { expected: { at_most: limit }, actual: totals };
        checker.demand(total <= limit + 1e-9, `the canary in line ${line} earns ${total}`, facts);
      }
      note({ actual: totals });
    },
  };
}

/** Adds an episode to the canaries. @throws ConfigError when the file cannot be written. */
export function saveCanary(file: string, episode: StudiedEpisode): void {
  const canaries = openEpisodeFile(file);
  const answer = (data: JsonObject) => ({
    observation: (data["observation"] ?? {}) as JsonObject,
    reward: typeof data["reward"] === "number" ? data["reward"] : null,
    done: data["done"] === true,
    ms: 0,
  });
  try {
    canaries.append({
      format: EPISODE_FORMAT,
      episode: canaries.found.length,
      environment: "",
      url: "",
      started_at: new Date().toISOString(),
      reset: episode.case.reset,
      start: answer(episode.reset.data),
      steps: actionsOf(episode).map((action, nth) => ({ action, ...answer(episode.steps[nth]?.data ?? {}) })),
      total_reward: episode.total,
      end: episode.done ? "done" : "policy",
    });
  } finally {
    canaries.close();
  }
}
