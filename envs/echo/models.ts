import { defineContract } from "openenv-ts";
import * as z from "zod";

export const echo = defineContract({
  name: "echo_env",
  description: "Says back what it is told.",
  action: z.object({ message: z.string().describe("The text to say back") }),
  observation: z.object({
    echoed_message: z.string().default("").describe("The text of the action"),
    message_length: z.int().min(0).default(0).describe("Its length in characters"),
  }),
});
