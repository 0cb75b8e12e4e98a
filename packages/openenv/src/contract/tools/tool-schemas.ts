import * as z from "zod";
import { TOOL_ERROR_TYPES } from "../../errors.js";

/** The action of an environment that has tools and no action of its own. */
export const CALL_TOOL_ACTION = z
  .object({
    type: z.literal("call_tool").default("call_tool").describe("What kind of action this is"),
    tool_name: z.string().describe("The tool to call"),
    arguments: z
      .record(z.string(), z.unknown())
      .default(() => ({}))
      .describe("What it is called with"),
  })
  .meta({ title: "CallToolAction", description: "Calls a tool." });

/** The other action of an environment with tools. */
export const LIST_TOOLS_ACTION = z.object({ type: z.literal("list_tools") });

const errorType = z.enum(TOOL_ERROR_TYPES).meta({ id: "ToolErrorType", description: "What went wrong" });
const error = z
  .strictObject({ error_type: errorType, message: z.string().describe("What to do about it") })
  .meta({ id: "ToolError", description: "Why a tool gave no result." });
const summary = z.object({
  name: z.string(),
  description: z.string(),
  input_schema: z.record(z.string(), z.unknown()),
});

/** What a step of an environment without an action of its own shows: of a call the first three, of a list the last. */
const TOOL_FIELDS = {
  tool_name: z.string().optional().describe("The tool that was called"),
  // Not filled in where they are missing: a reset has neither.
  result: z.unknown().optional().meta({ default: null, description: "What it gave" }),
  error: error.nullable().optional().meta({ default: null, description: "Why it gave nothing" }),
  tools: z.array(summary).optional().describe("What list_tools found"),
};

export type CallToolAction = typeof CALL_TOOL_ACTION;
/** What reset and steps of an environment without an action of its own show. */
export type ToolObservation<O extends z.ZodObject> = z.ZodObject<
  { [K in keyof O["shape"]]: z.ZodOptional<O["shape"][K]> } & typeof TOOL_FIELDS
>;

/** The fields of steps, and those of the author's reset, which a step does not have. */
export function toolObservation<O extends z.ZodObject>(own: O): ToolObservation<O> {
  const fields = Object.entries(own.shape as z.core.$ZodShape).map(([name, field]) => [name, z.optional(field)]);
  const shape = { ...TOOL_FIELDS, ...Object.fromEntries(fields) };
  const described = z.object(shape).meta({ title: "CallToolObservation", description: "What came of an action." });
  return described as unknown as ToolObservation<O>;
}
