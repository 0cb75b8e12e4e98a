/** An environment that answers at once, or never: `{loop: true}` blocks its thread or process. */
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

const contract = defineContract({
  name: "looping_env",
  action: z.object({ loop: z.boolean() }),
  observation: z.object({ steps: z.int() }),
});

export default defineEnvironment(contract, () => {
  let steps = 0;
  return {
    reset: () => ({ observation: { steps: (steps = 0) } }),
    step: ({ loop }) => {
      while (loop);
      return { observation: { steps: ++steps }, reward: 1 };
    },
  };
});
