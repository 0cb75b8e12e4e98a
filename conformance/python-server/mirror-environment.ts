import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
import * as z from "zod";

/** The environment of mirror_server.py, written with this package. */
export const mirror = defineEnvironment(
  defineContract({
    name: "Mirror",
    tools: defineTools({
      add: {
        description: "Adds two numbers.",
        input: z.object({ a: z.int(), b: z.int().default(1) }),
        output: z.int(),
      },
      describe: {
        description: "Describes a name.",
        input: z.object({ name: z.string() }),
        output: z.record(z.string(), z.unknown()),
      },
      tally: { description: "Counts its calls.", output: z.int() },
      fail: { description: "Always fails.", input: z.object({ why: z.string() }), output: z.string() },
    }),
  }),
  () => {
    let tally = 0;
    return {
      reset: () => {
        tally = 0;
        return { observation: {}, reward: 0, metadata: { status: "ready" } };
      },
      tools: {
        add: ({ a, b }) => a + b,
        describe: ({ name }) => ({ name, length: name.length }),
        tally: () => ++tally,
        fail: ({ why }) => {
          throw new Error(why);
        },
      },
    };
  },
  { stepBeforeReset: "allow" },
);
