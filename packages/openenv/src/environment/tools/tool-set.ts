import * as z from "zod";
import type { ObjectSchema } from "../../contract/contract.js";
import { givenSchema, renderTool, wrapsResult } from "../../contract/tools/tool-render.js";
import { CALL_TOOL_ACTION, LIST_TOOLS_ACTION } from "../../contract/tools/tool-schemas.js";
import type { ToolDeclaration, Tools } from "../../contract/tools/tools.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ToolEntry, ToolResult, ToolSummary } from "../../protocol/tools.js";
import type { JsonSafe } from "../../validation/json-safe.js";
import { createOutputCheck } from "../../validation/output.js";
import {
  type Checked,
  type CheckedAction,
  createActionCheck,
  parseInput,
  withFields,
} from "../../validation/parse-input.js";
import { renderResult } from "./tool-result.js";

/** The tools offered in one mode, ready to be called. Stateless, shared by all sessions. */
export interface ToolSet {
  /** The answer to `tools/list`. */
  readonly entries: readonly ToolEntry[];
  /** The result of a `list_tools` step. */
  readonly summaries: readonly ToolSummary[];
  find(name: string): Tool | undefined;
  /** Validates a `list_tools` or `call_tool` action. */
  checkAction(action: JsonObject): Checked<CheckedAction>;
}

export interface Tool {
  readonly name: string;
  /** The author's time limit for a call in milliseconds, if any. */
  readonly timeoutMs: number | undefined;
  /** Validates the arguments for the handler. */
  parse(given: JsonObject): Checked<JsonObject>;
  /**
   * Renders the handler's return value for the client. @throws InvalidOutputError when it does not fit the declaration.
   */
  render(returned: unknown): JsonSafe<ToolResult>;
}

/** Undefined for a contract without tools. */
export function createToolSet(tools: Tools, mode: "simulation" | "production"): ToolSet | undefined {
  const declared = Object.entries(tools);
  if (declared.length === 0) return undefined;
  const offered = declared.filter(([, tool]) => tool.mode === undefined || tool.mode === mode);
  const checkList = createActionCheck(LIST_TOOLS_ACTION);
  const checkCall = createActionCheck(CALL_TOOL_ACTION);
  const rendered = offered.map(([name, tool]) => renderTool(name, tool));
  const byName = new Map(offered.map(([name, tool]) => [name, createTool(name, tool)]));
  return {
    entries: rendered.map(({ entry }) => entry),
    summaries: rendered.map(({ summary }) => summary),
    find: (name) => byName.get(name),
    checkAction: (action) => (action["type"] === "list_tools" ? checkList(action) : checkCall(action)),
  };
}

const NO_INPUT = z.object({});

function createTool(name: string, { input = NO_INPUT, output, timeoutMs }: ToolDeclaration): Tool {
  const schema = z.compile(withFields(input, {}, z.never()));
  // Where another server has declared the input, that server checks it.
  const isGiven = givenSchema(input) !== undefined;
  const check = createCheck(name, output);
  const wraps = output !== undefined && wrapsResult(output);
  return {
    name,
    timeoutMs,
    parse: (given) => (isGiven ? { ok: true, value: given } : parseInput(schema, given)),
    render(returned) {
      const { value, nonFinite } = check(returned);
      return { value: renderResult(value, { returned, nonFinite, wraps }), nonFinite };
    },
  };
}

/** Creates the check for the return value of a handler; undefined becomes null. */
function createCheck(name: string, output: z.ZodType | undefined): (returned: unknown) => JsonSafe {
  if (output instanceof z.ZodObject) {
    const { catchall } = output.def;
    const open = catchall !== undefined && catchall._zod.def.type !== "never";
    return createOutputCheck(output as ObjectSchema, { name, unchecked: open });
  }
  const wrapped = createOutputCheck(z.object({ result: output ?? z.unknown() }), { name, unchecked: false });
  return (returned) => {
    const { value, nonFinite } = wrapped({ result: output === undefined ? (returned ?? null) : returned });
    return { value: value["result"] ?? null, nonFinite };
  };
}
