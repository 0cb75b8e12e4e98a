import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
import * as z from "zod";

const name = z.string().describe("The name of a box");

const boxes = defineContract({
  name: "boxes_env",
  description: "Find the heaviest box and open it.",
  observation: z.object({ task: z.string() }),
  tools: defineTools({
    list_boxes: { description: "Lists the boxes.", output: z.array(z.string()) },
    weigh: {
      description: "Weighs a box.",
      input: z.object({ name }),
      output: z.object({ grams: z.int() }).or(z.object({ problem: z.string() })),
    },
    open: {
      description: "Opens a box and ends the game.",
      input: z.object({ name }),
      output: z.object({ contents: z.string() }),
    },
  }),
});

const NAMES = ["amber", "cobalt", "ivory", "jade", "ruby"];
const HEAVY_GRAMS = 900;

export default defineEnvironment(boxes, () => {
  let weights = new Map<string, number>();
  const heaviest = () => [...weights].reduce((best, box) => (box[1] > best[1] ? box : best))[0];
  return {
    reset: ({ seed = 0 }) => {
      weights = new Map(NAMES.map((box, index) => [box, index === seed % NAMES.length ? HEAVY_GRAMS : 100 + index]));
      return {
        observation: { task: "One of the boxes is the heaviest. Find out which and open it; you have one try." },
      };
    },
    afterTool: ({ name: tool, arguments: given }) =>
      tool === "open" ? { reward: given["name"] === heaviest() ? 1 : 0, done: true } : {},
    tools: {
      list_boxes: () => NAMES,
      weigh: ({ name: box }) => {
        const grams = weights.get(box);
        return grams === undefined ? { problem: `there is no box "${box}"` } : { grams };
      },
      open: ({ name: box }) => ({ contents: box === heaviest() ? "gold" : "nothing" }),
    },
  };
});
