import type { EnvClient } from "../../client/env-client.js";
import type { JsonObject } from "../../protocol/messages.js";

/** What one episode showed: the reset and each step, without what differs by nature. */
export type CheckedEpisode = { observation: unknown; reward: unknown; done: boolean; metadata: unknown }[];

/** Resets with `options`, takes the actions until the episode is done. */
export async function playEpisode(
  env: EnvClient,
  options: JsonObject,
  actions: readonly JsonObject[],
): Promise<CheckedEpisode> {
  const episode: CheckedEpisode = [];
  let result = await env.reset(options);
  const note = (): void => {
    const { observation, reward, done, metadata } = result;
    episode.push({ observation, reward, done, metadata });
  };
  note();
  for (const action of actions) {
    if (result.done) break;
    result = await env.step(action);
    note();
  }
  return episode;
}
