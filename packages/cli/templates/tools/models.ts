import { defineContract, defineTools } from "openenv-ts";
import * as z from "zod";

const Box = z.record(z.string(), z.int()).describe("The number of pieces by the code of the item");

/** The contract of the environment. Types, validation, schemas and clients derive from it. */
export const contract = defineContract({
  name: "counter_game",
  description: "Find what a customer ordered, pack it into a box and ship the box.",
  observation: z.object({ order: z.string().describe("The order of the customer") }),
  state: z.object({ box: Box, shipped: z.boolean().describe("Whether the box was shipped, which ends the episode") }),
  tools: defineTools({
    search: {
      description: "Finds items of the shop whose name contains a text.",
      input: z.object({ text: z.string().min(1).describe("A part of the name, in any case") }),
      output: z.array(z.object({ code: z.string(), name: z.string() })),
    },
    pack: {
      description: "Puts pieces of an item into the box.",
      input: z.object({ code: z.string().describe("The code of the item"), count: z.int().min(1).max(9).default(1) }),
      output: z.object({ packed: z.boolean(), box: Box }),
    },
    ship: {
      description: "Ships the box and ends the episode.",
      output: z.object({ shipped: z.boolean() }),
    },
  }),
});
