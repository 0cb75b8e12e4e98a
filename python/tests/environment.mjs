import {
  createTasks,
  defineContract,
  defineEnvironment,
  defineTools,
  Rubric,
  SessionLostError,
  WeightedSum,
} from "openenv-ts";
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

class Amount extends Rubric {
  forward({ amount }) {
    return amount;
  }
}
class Even extends Rubric {
  forward(_action, { count }) {
    return Number(count % 2 === 0);
  }
}

const SPECIAL = { 52: { done: true, truncated: true }, 53: { metadata: { rubric_scores: { part: "much" } } } };
const PARTS = { amount: 0.5, even: 0.5 };

let [running, most] = [0, 0];
/** With the variable MEASURE, calls take a moment; counts how many there are at the same time. */
async function measure() {
  if (!process.env.MEASURE) return;
  most = Math.max(most, ++running);
  await new Promise((resolve) => setTimeout(resolve, 100));
  running--;
}

/**
 * Counts up to 10. Variables: NO_TOOLS leaves out the tools, TASKS adds tasks, BOUNDED limits amounts to 0 to 3, RUBRIC
 * adds the parts of the reward, MEASURE shows how many sessions were opened or called at the same time as the count, OVER
 * makes a reset return a reward and end the episode. Amounts: 50 answers after a second, 51 ends the process, 52 ends the
 * episode by a limit, 53 has a part of the reward that is not a number, 54
 * loses the session.
 */
export default defineEnvironment(
  counter,
  async () => {
    await measure();
    let state = { count: 0, start: 0 };
    const show = () => ({
      observation: { ...state, ...(process.env.MEASURE && { count: most }) },
      done: state.count >= 10,
    });
    const add = async (amount) => {
      await measure();
      if (amount === 51) process.exit(1);
      if (amount === 54) throw new SessionLostError("the simulator is gone");
      if (amount === 50) await new Promise((resolve) => setTimeout(resolve, 1000));
      state.count += amount;
      return state.count;
    };
    return {
      ...(process.env.RUBRIC && { rubric: new WeightedSum({ amount: new Amount(), even: new Even() }, PARTS) }),
      reset: async ({ rng }) => {
        await measure();
        state = { count: 0, start: rng.int(1, 1_000_000) };
        return { ...show(), ...(process.env.OVER && { reward: 5, done: true }) };
      },
      step: async ({ amount }) => {
        await add(amount);
        return { ...show(), reward: amount, ...SPECIAL[amount] };
      },
      snapshot: () => state,
      restore: (saved) => {
        state = saved;
      },
      ...(process.env.NO_TOOLS ? {} : { tools: { add: ({ amount }) => add(amount) } }),
    };
  },
  {
    ...(process.env.TASKS && { tasks: createTasks({ train: [{ from: 1 }, { from: 2 }] }) }),
    ...(process.env.RUBRIC && { rubricScores: true }),
  },
);
