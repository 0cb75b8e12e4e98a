import { createTasks, defineContract, defineEnvironment, defineTools } from "openenv-ts";
import * as z from "zod";

const tools = defineTools({
  add: {
    description: "Adds to the count.",
    input: z.object({ amount: z.int().describe("How much to add") }),
    output: z.int(),
  },
});
const counter = defineContract({
  name: "counter_env",
  action: z.object({ amount: process.env.BOUNDED ? z.int().min(0).max(3) : z.int() }),
  observation: z.object({ count: process.env.BOUNDED ? z.int().min(0).max(99) : z.int(), start: z.int() }),
  ...(process.env.NO_TOOLS ? {} : { tools }),
});

/** Counts up to 10, without tools if the variable NO_TOOLS is set, with tasks if TASKS is; BOUNDED limits amounts to 0 to 3. Amounts: 50 answers after a second, 51 ends the process, 52 ends the episode by a limit. */
export default defineEnvironment(
  counter,
  () => {
    let state = { count: 0, start: 0 };
    const show = () => ({ observation: { ...state }, done: state.count >= 10 });
    const add = async (amount) => {
      if (amount === 51) process.exit(1);
      if (amount === 50) await new Promise((resolve) => setTimeout(resolve, 1000));
      state.count += amount;
      return state.count;
    };
    return {
      reset: ({ rng }) => {
        state = { count: 0, start: rng.int(1, 1_000_000) };
        return show();
      },
      step: async ({ amount }) => {
        await add(amount);
        return { ...show(), reward: amount, ...(amount === 52 && { done: true, truncated: true }) };
      },
      snapshot: () => state,
      restore: (saved) => {
        state = saved;
      },
      ...(process.env.NO_TOOLS ? {} : { tools: { add: ({ amount }) => add(amount) } }),
    };
  },
  process.env.TASKS ? { tasks: createTasks({ train: [{ from: 1 }, { from: 2 }] }) } : {},
);
