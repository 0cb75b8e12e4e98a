import { defineContract, defineEnvironment, defineTools, ToolError } from "openenv-ts";
import * as z from "zod";

const nothing = { description: "Does nothing.", input: z.object({}), output: z.string() };
const count = z.int().min(1).max(5).describe("How many");
const item = z.object({
  sku: z.string().describe("Article number"),
  reason: z.enum(["broken", "late"]).describe("Why it comes back"),
});
const kinds = ["execution_error", "invalid_args", "tool_not_found", "timeout", "transport_error"];
const tools = defineTools({
  take: {
    description: "Takes marbles.",
    input: z.object({ color: z.enum(["red", "blue"]).optional(), count, "a-b": z.string().default("x") }),
    output: z.string(),
  },
  fail: { description: "Fails.", input: z.object({ how: z.enum(kinds) }), output: z.string() },
  give_back: {
    description: "Registers a return.",
    input: z.object({ "the-items": z.array(item).min(1) }),
    output: z.int(),
  },
  "my-tool": nothing,
  class: nothing,
  done: nothing,
  lost: nothing,
  ...(process.env.SAME_NAME ? { my_tool: nothing } : {}),
});
const marbles = defineContract({
  name: "marbles_env",
  description: "Take marbles.",
  action: z.object({}),
  observation: z.object({ text: z.string() }),
  tools,
});

/** An environment with tools, some with names that Python or the trainer does not allow. */
export default defineEnvironment(marbles, () => ({
  reset: ({ seed = 0 }) => ({ observation: { text: `marbles ${seed}` } }),
  step: () => ({ observation: { text: "" } }),
  tools: {
    take: (given) => JSON.stringify(given),
    fail: ({ how }) => {
      throw new ToolError(how, "it failed");
    },
    give_back: (given) => given["the-items"].length,
    "my-tool": () => "my-tool",
    class: () => "class",
    done: () => "done",
    lost: () => "lost",
    my_tool: () => "my_tool",
  },
}));
