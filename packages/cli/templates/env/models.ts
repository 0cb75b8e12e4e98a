import { defineContract } from "openenv-ts";
import * as z from "zod";

/** What the environment takes and gives: types, validation, schemas and clients all come from here. */
export const contract = defineContract({
  name: "counter_game",
  description: "Add numbers until the count is the target; who goes past it loses.",
  action: z.object({
    amount: z.int().min(1).max(5).describe("How much to add to the count"),
  }),
  observation: z.object({
    count: z.int().describe("The count so far"),
    target: z.int().describe("What the count should become"),
    message: z.string().default("").describe("What happened, in words"),
  }),
  state: z.object({
    history: z.array(z.int()).describe("The amounts of this episode, the oldest first"),
  }),
});
