import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
import * as z from "zod";

/** More fields than any window has room for: every kind of short input, with and without a description. */
function manyFields(count: number): z.ZodObject {
  const kinds = [
    z.int().min(1).max(10).default(3),
    z.string().default("").describe("What it is good for"),
    z.enum(["left", "right"]).default("left"),
    z.string().default(""),
  ];
  return z.object(
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`field_${at}`, kinds[at % 4] as z.ZodType])),
  );
}

/** An environment whose action has 40 fields. */
export const longForm = defineEnvironment(
  defineContract({
    name: "long_env",
    action: manyFields(40),
    observation: z.object({}),
    state: z.object({ ready: z.boolean().default(true) }),
  }),
  () => ({
    reset: () => ({ observation: {} }),
    step: ({ field_1: word }) => {
      if (word === "fail") throw new Error("this word fails");
      return { observation: {} };
    },
  }),
);

/** Three tools: the first has one field, the last has 40. */
export const longTools = defineEnvironment(
  defineContract({
    name: "long_tools_env",
    observation: z.object({}),
    tools: defineTools({
      say: { description: "Says it.", input: z.object({ text: z.string() }), output: z.string() },
      wait: { description: "Waits.", output: z.string() },
      fill: { description: "Takes many fields.", input: manyFields(40), output: z.string() },
    }),
  }),
  () => ({
    reset: () => ({ observation: {} }),
    tools: { say: ({ text }) => text, wait: () => "waited", fill: () => "filled" },
  }),
);
