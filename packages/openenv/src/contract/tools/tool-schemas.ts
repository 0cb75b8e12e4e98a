import * as z from "zod";
import { TOOL_ERROR_TYPES } from "../../errors.js";

/** The action of a contract that declares tools and no action. */
export const CALL_TOOL_ACTION = z
  .object({
    type: z.literal("call_tool").default("call_tool").describe("Kind of action"),
    tool_name: z.string().describe("The tool to call"),
    arguments: z
      .record(z.string(), z.unknown())
      .default(() => ({}))
      .describe("Arguments of the call"),
  })
  .meta({ title: "CallToolAction", description: "Calls a tool." });

/** The action that lists the tools of an environment. */
export const LIST_TOOLS_ACTION = z.object({ type: z.literal("list_tools") });

const errorType = z.enum(TOOL_ERROR_TYPES).meta({ id: "ToolErrorType", description: "Kind of failure" });
const error = z
  .strictObject({ error_type: errorType, message: z.string().describe("Error message") })
  .meta({ id: "ToolError", description: "Why a tool call failed." });
const summary = z.object({
  name: z.string(),
  description: z.string(),
  input_schema: z.record(z.string(), z.unknown()),
});

/** Fields of a tools-only environment's step: the first three for a tool call, the last for a list of tools. */
const TOOL_FIELDS = {
  tool_name: z.string().optional().describe("The tool that was called"),
  // Optional without a default value: the observation of a reset has neither.
  result: z.unknown().optional().meta({ default: null, description: "Result of the tool" }),
  error: error.nullable().optional().meta({ default: null, description: "Error of the tool" }),
  tools: z.array(summary).optional().describe("Available tools, for list_tools"),
};

export type CallToolAction = typeof CALL_TOOL_ACTION;
/** The observation of resets and steps of a tools-only environment. */
export type ToolObservation<O extends z.ZodObject> = z.ZodObject<
  { [K in keyof O["shape"]]: z.ZodOptional<O["shape"][K]> } & typeof TOOL_FIELDS
>;

/** The fields of a step and, as optional fields, those of the author's reset observation. */
export function toolObservation<O extends z.ZodObject>(own: O): ToolObservation<O> {
  const fields = Object.entries(own.shape as z.core.$ZodShape).map(([name, field]) => [name, z.optional(field)]);
  const shape = { ...TOOL_FIELDS, ...Object.fromEntries(fields) };
  const described = z.object(shape).meta({ title: "CallToolObservation", description: "Result of an action." });
  return described as unknown as ToolObservation<O>;
}
