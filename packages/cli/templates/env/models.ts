import { defineContract } from "openenv-ts";
import * as z from "zod";

/** The contract of the environment. Types, validation, schemas and clients derive from it. */
export const contract = defineContract({
  name: "counter_game",
  description: "Add numbers to reach the target; going past it loses.",
  action: z.object({
    amount: z.int().min(1).max(5).describe("How much to add to the count"),
  }),
  observation: z.object({
    count: z.int().describe("The count so far"),
    target: z.int().describe("The count to reach"),
    message: z.string().default("").describe("What happened"),
  }),
  state: z.object({
    history: z.array(z.int()).describe("The amounts of this episode, oldest first"),
  }),
});
