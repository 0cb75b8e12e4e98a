/** The environment of the examples of plugins: it adds what is thrown. */
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

const dice = defineContract({
  name: "dice_env",
  action: z.object({ eyes: z.int().min(1).max(6) }),
  observation: z.object({ sum: z.int() }),
});

export default defineEnvironment(dice, () => {
  let sum = 0;
  return {
    reset: () => ({ observation: { sum: (sum = 0) } }),
    step: ({ eyes }) => ({ observation: { sum: (sum += eyes) }, reward: eyes, done: sum >= 20 }),
  };
});
