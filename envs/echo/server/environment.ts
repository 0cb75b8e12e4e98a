import { defineEnvironment } from "openenv-ts";
import { echo } from "../models.js";

/** Reward of one character of the message. */
const REWARD_PER_CHARACTER = 0.1;

export default defineEnvironment(
  echo,
  () => ({
    reset: () => ({
      observation: { echoed_message: "Echo environment ready!" },
      reward: 0,
      metadata: { status: "ready", message: "Echo environment ready!" },
    }),
    step: ({ message }) => {
      const length = lengthOf(message);
      return {
        observation: { echoed_message: message, message_length: length },
        reward: length * REWARD_PER_CHARACTER,
      };
    },
    // Nothing to save: an answer depends on its message alone.
    snapshot: () => null,
    restore: () => {},
    actions: ({ echoed_message: message = "" }) => [{ label: "Say it again", action: { message } }],
    tools: {
      echo_message: ({ message }) => message,
      echo_with_length: ({ message }) => ({ message, length: lengthOf(message) }),
    },
  }),
  { stepBeforeReset: "allow", sharesState: "no" },
);

/** Characters as people count them: an emoji is one, not two code units. */
function lengthOf(text: string): number {
  return [...text].length;
}
