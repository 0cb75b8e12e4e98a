import { defineContract } from "openenv-ts";
import * as z from "zod";

export const LANGUAGES = ["python", "javascript"] as const;

/** The fields of the reference's coding environment, so that its Python client works with this one. */
export const coding = defineContract({
  name: "coding_env",
  description: "Runs Python and JavaScript in a sandbox and says what came out.",
  action: z.object({
    code: z.string().describe("The program to run; variables and imports of earlier steps are still there"),
    language: z.enum(LANGUAGES).default("python").describe("Each language has an interpreter of its own"),
  }),
  observation: z.object({
    stdout: z.string().default("").describe("What the program wrote to standard output"),
    stderr: z.string().default("").describe("What it wrote to standard error, with tracebacks"),
    exit_code: z.int().default(0).describe("0 when the program ran to its end without an error"),
  }),
  state: z.object({
    last_exit_code: z.int().default(0).describe("The exit code of the latest step, 0 after a reset"),
  }),
});

/**
 * How a step ended:
 * `ok` and `error` by the code itself (exit code 0 or another), `timeout` by the time limit, `died` because the
 * interpreter ended (`os._exit`, a crash, no memory), `garbled` because code wrote into the interpreter's own channel.
 */
export const OUTCOMES = ["ok", "error", "timeout", "died", "garbled"] as const;

/** The `metadata` of every step: typed clients of the Python package refuse more fields in the observation. */
export const codeMetadata = z.object({
  language: z.enum(LANGUAGES),
  outcome: z.enum(OUTCOMES),
  /** The interpreter is gone with its variables and imports; the next step begins with a new one. */
  state_lost: z.boolean(),
  /** `stdout` or `stderr` was longer than `MAX_OUTPUT_LENGTH`; a line inside it says how much is missing. */
  truncated: z.boolean(),
});

export type Language = (typeof LANGUAGES)[number];
export type Outcome = (typeof OUTCOMES)[number];
export type CodeMetadata = z.infer<typeof codeMetadata>;
