import { defineContract, defineTools } from "openenv-ts";
import * as z from "zod";

const message = z.string().describe("The text to say back");

export const echo = defineContract({
  name: "echo_env",
  description: "Returns the message it receives.",
  // By this title trainers such as verifiers know that there are tools, and ask for them with list_tools.
  action: z.object({ message }).meta({ title: "Action" }),
  observation: z.object({
    echoed_message: z.string().default("").describe("The text of the action"),
    message_length: z.int().min(0).default(0).describe("Its length in characters"),
  }),
  tools: defineTools({
    echo_message: {
      description: "Returns a string.",
      input: z.object({ message }),
      output: z.string(),
    },
    echo_with_length: {
      description: "Returns a string, with its length in characters.",
      input: z.object({ message }),
      output: z.object({ message: z.string(), length: z.int() }),
    },
  }),
});
