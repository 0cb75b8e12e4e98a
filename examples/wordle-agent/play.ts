import type { EnvClient } from "openenv-ts/client";
import type { wordle } from "../../envs/wordle/models.js";

/** Decides one move. `news` is what the game has said since the last one, at first the rules. */
export type GuessPolicy = (news: string) => string | Promise<string>;

export interface WordleEpisode {
  seed: number;
  moves: string[];
  /** The reward of the game's end: 1 when the word was found. */
  reward: number;
}

/**
 * Plays one game to its end.
 * @throws what the policy or the connection throws: an episode that broke off has no reward, not one of 0.
 */
export async function playEpisode(
  env: EnvClient<typeof wordle>,
  policy: GuessPolicy,
  seed: number,
): Promise<WordleEpisode> {
  let result = await env.reset({ seed });
  const moves: string[] = [];
  for (let read = 0; !result.done; ) {
    const said = result.observation.messages[0]?.content ?? "";
    const message = await policy(said.slice(read));
    read = said.length;
    moves.push(message);
    result = await env.step({ message });
  }
  return { seed, moves, reward: Number(result.reward) };
}
