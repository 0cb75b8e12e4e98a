/** An environment that another process can continue. */
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";

const restorable = defineContract({
  name: "restorable_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
});

export default defineEnvironment(restorable, () => {
  let count = 0;
  return {
    reset: () => ({ observation: { count: (count = 0) } }),
    step: ({ amount }) => ({ observation: { count: (count += amount) }, reward: amount, done: false }),
    snapshot: () => ({ count }),
    restore: (saved) => void ({ count } = saved),
  };
});
