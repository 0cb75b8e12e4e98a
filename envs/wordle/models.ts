import { defineContract } from "openenv-ts";
import * as z from "zod";

/** What a move may hold, thoughts of a model included: the game keeps every move of an episode. */
const LONGEST_MESSAGE = 65_536;

const open = z.record(z.string(), z.unknown());

/** The shapes of the Python package's TextArena environment, so that what plays there plays here. */
export const wordle = defineContract({
  name: "wordle_env",
  description: "Guess a secret word of five letters in six turns.",
  action: z.object({
    message: z
      .string()
      .max(LONGEST_MESSAGE)
      .meta({ description: "The guess in square brackets, such as [crane]", examples: ["[crane]"] }),
  }),
  observation: z.object({
    prompt: z.string().describe("The rules of the game"),
    messages: z
      .array(z.object({ sender_id: z.int(), content: z.string(), category: z.string() }))
      .default([])
      .describe("One message: all that was said in this episode, to which every step appends"),
    current_player_id: z.int().default(0).describe("Whose turn it is"),
    legal_players: z.array(z.int()).default([]).describe("The players of the game"),
    info: open.default({}).describe("`reward_signals` of the step; `reason` when the game is over"),
  }),
  state: z.object({
    env_id: z.string().describe("The game"),
    num_players: z.int(),
    max_turns: z.int().nullable().default(null).describe("How many guesses there are"),
    turn: z.int().default(0).describe("Valid moves so far, and the one that lost the game"),
    last_reward: z.number().default(0),
    last_info: open.default({}),
    raw_state: open.default({}).describe("The game from inside; the secret word once the game is over"),
  }),
});
