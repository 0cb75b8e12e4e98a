import * as z from "zod";
import { relativePath } from "./relative-path.js";
import { validationBlock } from "./validation-block.js";
import { objectToVariable } from "./variable-policy.js";

/** Every field of `openenv.yaml`. Other fields at the top level are ignored with a warning. */
export const manifestSchema = z.object({
  spec_version: z.literal(1).default(1).describe("version of the manifest format"),
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,95}$/, "a letter, then letters, digits, _ or -, at most 96 characters")
    .describe("name of the environment, also used for its Space and its image"),
  version: z
    .string()
    .min(1)
    .optional()
    .describe("version of the environment; `openenv serve` reports it unless the contract has a version"),
  description: z.string().optional().describe("one sentence about the environment"),
  type: z.string().default("space").describe("format in which it is published"),
  runtime: z.string().default("node").describe("`node`, or `fastapi` for a Python environment"),
  environment: relativePath().optional().describe("module that exports the environment, relative to this folder"),
  app: z.string().optional().describe("application of a Python environment, such as `server.app:app`"),
  port: z.int().min(1).max(65_535).default(8000).describe("port of the server, also in its image"),
  action: z
    .string()
    .optional()
    .describe("class of the actions in the Python package, if it cannot be derived from the name"),
  observation: z.string().optional().describe("class of the observations in the Python package, likewise"),
  variables: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "letters, digits and _"), variableValue())
    .superRefine((variables, context) => {
      for (const [name, value] of Object.entries(variables)) {
        const message = objectToVariable(name, String(value));
        if (message !== undefined)
          context.addIssue({ code: "custom", path: [name], message, params: { complete: true } });
      }
    })
    .default({})
    .describe(
      "public environment variables of the server, set on a Space and, unless already set, by `openenv serve`: settings " +
        "of size and behavior, and the environment's own variables",
    ),
  plugins: z
    .array(relativePath())
    .default([])
    .describe(
      "modules with plugins of the server, relative to this folder; only `openenv serve --allow-plugins` loads them: " +
        "without it the server does not start, and no image is built",
    ),
  publish: z
    .strictObject({
      level: z.enum(["runtime", "semantic"]).default("runtime").describe("last level of the checks that must pass"),
    })
    .optional()
    .describe("what `openenv push` requires before it publishes; with `semantic`, nothing may be unknown"),
  validation: validationBlock.optional().describe("what `openenv validate` checks the environment against"),
});

/** A manifest with its defaults. Fields have the same names as in the file. */
export type Manifest = z.output<typeof manifestSchema>;

/** The name of the file in an environment's folder. */
export const MANIFEST_FILE = "openenv.yaml";

function variableValue() {
  return z.union([z.string(), z.number(), z.boolean()], "a string, a number, true or false").transform(String);
}
