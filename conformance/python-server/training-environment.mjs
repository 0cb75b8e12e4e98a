import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

const SECRETS = ["crane", "crate", "trace", "brace"];
const GUESSES = 4;

/** Three tasks for training, chosen by the variable TASK; training_server.py has the same for the Python package. */
const tasks = {
  echo: defineEnvironment(
    defineContract({
      name: "echo_env",
      description: "Write a long message.",
      action: z.object({ message: z.string().describe("The text to say back") }),
      observation: z.object({ echoed_message: z.string(), message_length: z.int() }),
    }),
    () => ({
      reset: () => ({ observation: { echoed_message: "", message_length: 0 } }),
      step: ({ message }) => ({
        observation: { echoed_message: message, message_length: message.length },
        reward: message.length * 0.1,
      }),
      snapshot: () => null,
      restore: () => {},
    }),
  ),

  wordle: defineEnvironment(
    defineContract({
      name: "wordle_env",
      description: "Guess the secret word.",
      action: z.object({ guess: z.string().describe("A word of five letters") }),
      observation: z.object({ marks: z.string(), guesses_left: z.int() }),
    }),
    () => {
      let state = { secret: "", left: 0 };
      const show = (marks) => ({ marks, guesses_left: state.left });
      return {
        reset: ({ seed = 0 }) => {
          state = { secret: SECRETS[(seed * 7 + 3) % SECRETS.length], left: GUESSES };
          return { observation: show("") };
        },
        step: ({ guess }) => {
          const { secret } = state;
          state.left -= 1;
          const marks = [...guess].map((letter, at) => markOf(letter, at, secret)).join("");
          const greens = [...marks].filter((mark) => mark === "G").length;
          const done = guess === secret || state.left === 0;
          return { observation: show(marks), reward: guess === secret ? 1 : greens * 0.1, done };
        },
        snapshot: () => state,
        restore: (saved) => {
          state = saved;
        },
      };
    },
  ),

  counting: defineEnvironment(
    defineContract({
      name: "counter_env",
      description: "Count to the goal in few steps.",
      action: z.object({ amount: z.int().describe("How much to add") }),
      observation: z.object({ count: z.int(), goal: z.int() }),
    }),
    () => {
      let state = { count: 0, goal: 0 };
      const show = () => ({ observation: { ...state }, done: state.count >= state.goal });
      return {
        reset: ({ seed = 0 }) => {
          state = { count: 0, goal: 5 + (seed % 4) };
          return show();
        },
        step: ({ amount }) => {
          state.count += amount;
          return { ...show(), reward: amount / state.goal - 0.1 };
        },
        snapshot: () => state,
        restore: (saved) => {
          state = saved;
        },
      };
    },
  ),
};

export default tasks[process.env.TASK];

function markOf(letter, at, secret) {
  if (secret[at] === letter) return "G";
  return secret.includes(letter) ? "Y" : "X";
}
