import { setTimeout as sleep } from "node:timers/promises";
import { defineContract, defineEnvironment, defineTools, type ToolHandlers } from "openenv-ts";
import * as z from "zod";

const declared = defineTools({
  add: {
    description: "Add two numbers.",
    input: z.object({ a: z.int(), b: z.int().default(1) }),
    output: z.int(),
  },
  describe: {
    description: "Describe a name.",
    input: z.object({ name: z.string() }),
    output: z.record(z.string(), z.unknown()),
  },
  bump: { description: "Increase a per-session tally.", output: z.int() },
  boom: { description: "Always fails.", input: z.object({ why: z.string() }), output: z.string() },
  nothing: { description: "Returns nothing.", output: z.null() },
});
const bad = { nan: { description: "No number.", output: z.object({ v: z.number() }) } };
const slow = { slow: { description: "Takes its time.", output: z.string() } };

/** Duration of the slow tool; the recorded one took 3 s, with a timeout of 0.5 s. */
const SLOW_MS = 5_000;

function createHandlers(): ToolHandlers<typeof declared> {
  let tally = 0;
  return {
    add: ({ a, b }) => a + b,
    describe: ({ name }) => ({ name, length: name.length }),
    bump: () => ++tally,
    boom: ({ why }) => {
      throw new Error(why);
    },
    nothing: () => null,
  };
}

const reset = () => ({ observation: {}, reward: 0, metadata: { status: "ready" } });
const options = { stepBeforeReset: "allow" } as const;

/** The recorded environment with tools and without its own action. */
export const tools = defineEnvironment(
  defineContract({ name: "tools", tools: declared }),
  () => ({ reset, tools: createHandlers() }),
  options,
);

/** The same environment with an empty action. */
export const toolsAndAction = defineEnvironment(
  defineContract({ name: "tools-generic", action: z.object({}), observation: z.object({}), tools: declared }),
  () => ({ reset, step: reset, tools: createHandlers() }),
  options,
);

/** The same environment with its own action. */
export const toolsAndText = defineEnvironment(
  defineContract({
    name: "tools-other-action",
    action: z.object({ text: z.string() }),
    observation: z.object({}),
    tools: declared,
  }),
  () => ({ reset, step: reset, tools: createHandlers() }),
  options,
);

/** One tool returns NaN. */
export const nanTools = defineEnvironment(
  defineContract({ name: "nan-tools", tools: { ...declared, ...bad } }),
  () => ({ reset, tools: { ...createHandlers(), nan: () => ({ v: Number.NaN }) } }),
  options,
);

/** One tool is slow, and stops when its signal is aborted. */
export const slowTools = defineEnvironment(
  defineContract({ name: "slow-tools", tools: { ...declared, ...slow } }),
  () => ({
    reset,
    tools: { ...createHandlers(), slow: (_input, { signal }) => sleep(SLOW_MS, "done", { signal }) },
  }),
  options,
);
