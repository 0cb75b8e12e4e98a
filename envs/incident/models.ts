import { defineContract, defineTools } from "openenv-ts";
import * as z from "zod";

export const LONGEST_COMMAND = 4_000;
export const LONGEST_OUTPUT = 8_000;

const tools = defineTools({
  bash: {
    description:
      "Runs a command of bash on the host, in a new shell in the folder /. Next to the usual commands there are svc, ps, df, " +
      "metrics and curl. A minute passes with each call.",
    input: z.object({ command: z.string().max(LONGEST_COMMAND) }),
    output: z.object({
      stdout: z.string().describe(`At most ${LONGEST_OUTPUT} characters, then the number of those left out`),
      stderr: z.string().describe("As long as stdout; has the reason if a limit has ended the command"),
      exit_code: z.int(),
    }),
  },
  resolve: {
    description: "Declares the incident resolved, and ends the episode.",
    input: z.object({ summary: z.string().max(2_000).describe("The cause and the fix, for people; not graded") }),
    output: z.object({ message: z.string() }),
  },
});

/** The shell of a host on which something is broken. */
export const incident = defineContract({
  name: "incident_env",
  description: "Find out why services of a host fail, and repair them without harm.",
  observation: z.object({
    alert: z.string().describe("Which services fail, and since when"),
    instructions: z.string(),
  }),
  state: z.object({
    services: z.array(z.object({ name: z.string(), healthy: z.boolean() })).default([]),
    changed: z.array(z.string()).default([]).describe("Files of the beginning that are changed or gone"),
    needless_restarts: z.int().default(0).describe("Starts and stops of services that were healthy"),
    calls: z.int().default(0),
    resolved: z.boolean().default(false),
    summary: z.string().default(""),
  }),
  tools,
});
