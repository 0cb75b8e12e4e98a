import { defineContract } from "openenv-ts";
import * as z from "zod";

export const benchmark = defineContract({
  name: "benchmark_env",
  description: "Waits for a given time and returns where it ran, to measure servers.",
  action: z.object({
    wait_seconds: z.number().min(0).default(0).describe("How long the step takes, in seconds"),
  }),
  observation: z.object({
    host_url: z.string().default("").describe("The machine the session lives on, and the port of its server"),
    pid: z.int().default(0).describe("The process the session lives in"),
    session_hash: z.string().default("").describe("16 characters that name the session's environment"),
    waited_seconds: z.number().default(0).describe("The wait that the action requested, in seconds"),
    timestamp: z.number().default(0).describe("Unix time of the answer, in seconds"),
  }),
});
