import * as z from "zod";
import { relativePath } from "./relative-path.js";
import { validationBlock } from "./validation-block.js";
import { objectToVariable } from "./variable-policy.js";

/** Every field of `openenv.yaml`. Other fields at the top level are let through, as the Python package does. */
export const manifestSchema = z.object({
  spec_version: z.literal(1).default(1).describe("version of this format"),
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,95}$/, "a letter, then letters, digits, _ or -, at most 96 in all")
    .describe("the environment's name; the Space and the image are called after it"),
  version: z
    .string()
    .min(1)
    .optional()
    .describe("version of the environment, in quotes; `openenv serve` tells it, unless the contract says one"),
  description: z.string().optional().describe("one sentence for catalogues"),
  type: z.string().default("space").describe("what it is published as"),
  runtime: z.string().default("node").describe("node, or fastapi for a Python environment"),
  environment: relativePath().optional().describe("module whose export is the environment, from this folder on"),
  app: z.string().optional().describe("application of a Python environment: server.app:app"),
  port: z.int().min(1).max(65_535).default(8000).describe("port of the server, also in its image"),
  action: z
    .string()
    .optional()
    .describe("class of the actions in the Python package, where it is not called after the name"),
  observation: z.string().optional().describe("class of the observations, as above"),
  variables: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "letters, digits and _"), variableValue())
    .superRefine((variables, context) => {
      for (const name of Object.keys(variables)) {
        const message = objectToVariable(name);
        if (message !== undefined)
          context.addIssue({ code: "custom", path: [name], message, params: { complete: true } });
      }
    })
    .default({})
    .describe(
      "public variables of a server, given to a Space and, where they are unset, to `openenv serve`: settings of size " +
        "and behavior, and the environment's own variables",
    ),
  validation: validationBlock.optional().describe("what `openenv validate` holds the environment to"),
});

/** A manifest with its defaults. Fields have the names they have in the file. */
export type Manifest = z.output<typeof manifestSchema>;

/** The name of the file in an environment's folder. */
export const MANIFEST_FILE = "openenv.yaml";

function variableValue() {
  return z.union([z.string(), z.number(), z.boolean()], "text, a number, true or false").transform(String);
}
