import { defineEnvironment } from "openenv-ts";
import { contract } from "../models.js";

/** Each call of this function is one session, so the state of a session lives inside it. */
export default defineEnvironment(
  contract,
  () => {
    let count = 0;
    let target = 0;
    let history: number[] = [];
    return {
      reset: ({ rng }) => {
        count = 0;
        target = rng.int(10, 20);
        history = [];
        return { observation: { count, target, message: `Count to ${target}.` } };
      },
      step: ({ amount }) => {
        // Report an illegal move in the observation; an exception means that the environment is broken.
        if (count >= target) {
          return { observation: { count, target, message: "The game is over; reset to play again." }, done: true };
        }
        count += amount;
        history.push(amount);
        const won = count === target;
        const message = won ? "You won." : count > target ? "Too far." : `${target - count} to go.`;
        return { observation: { count, target, message }, reward: won ? 1 : 0, done: count >= target };
      },
      state: () => ({ history }),
    };
  },
  { seeded: true, sharesState: "no" },
);
