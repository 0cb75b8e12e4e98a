import type { EnvClient } from "openenv-ts/client";
import type { wordle } from "../../envs/wordle/models.js";

/** Decides one move. `news` is the text of the game since the last move, at first the rules. */
export type GuessPolicy = (news: string) => string | Promise<string>;

export interface WordleEpisode {
  seed: number;
  moves: string[];
  /** The final reward of the game: 1 when the word was found. */
  reward: number;
}

/**
 * Plays one game.
 * @throws the errors of the policy and the connection: an interrupted episode has no reward, not a reward of 0.
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
