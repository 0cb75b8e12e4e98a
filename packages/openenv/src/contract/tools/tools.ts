import * as z from "zod";
import { OpenEnvError } from "../../errors.js";
import { RESERVED_TOOL_NAMES, type ToolErrorBody } from "../../protocol/tools.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";
import type { MaybePromise } from "../../util/types.js";

/** What is known of a tool without a session; its handler is a member of the environment's `tools`. */
export interface ToolDeclaration {
  /** Tells an agent what the tool does and when to call it. */
  description: string;
  /** For people. */
  title?: string;
  /** The arguments; default none. Unknown ones are refused, scalars are read leniently when they do not fit. */
  input?: z.ZodObject;
  /** What the handler returns; without it any JSON. */
  output?: z.ZodType;
  /** Offered in this mode only; default in both. */
  mode?: "simulation" | "production";
  /** Milliseconds a call may take; default 30,000. */
  timeoutMs?: number;
}

/** Tools by their names. */
export type Tools = Readonly<Record<string, ToolDeclaration>>;
export type NoTools = Readonly<Record<never, never>>;

/** What a handler is told beside its arguments. */
export interface ToolContext {
  /** Aborts when the time of the call is up, the client leaves or the server stops. */
  readonly signal: AbortSignal;
}

/** What a tool's handler receives: the arguments, checked, with defaults filled in. */
export type ToolInput<D extends ToolDeclaration> = D extends { input: infer I extends z.ZodObject }
  ? z.output<I>
  : Record<string, never>;
/** What a tool's handler returns. */
export type ToolOutput<D extends ToolDeclaration> = D extends { output: infer O extends z.ZodType }
  ? z.input<O>
  : unknown;

/** The handlers of a session, one for each declared tool. Sync or async. */
export type ToolHandlers<T extends Tools = Tools> = {
  [K in keyof T]: Handler<ToolInput<T[K]>, ToolOutput<T[K]>>;
};
/** A method, so that handlers of known tools are also handlers of any. */
type Handler<I, O> = { call(input: I, context: ToolContext): MaybePromise<O> }["call"];

/** A call of a tool by a step that has been made, and what came of it. */
export interface ToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** What the tool returned; undefined when the call failed. */
  readonly result: unknown;
  /** Why the call failed; undefined when it did not. */
  readonly error: ToolErrorBody | undefined;
}

/** False for a call that failed by no fault of the agent, which is no ground for a reward, not even one of zero. */
export function isAgentsDoing({ error }: { error: ToolErrorBody | null | undefined }): boolean {
  return error == null || error.error_type === "invalid_args" || error.error_type === "tool_not_found";
}

/** What a step that called a tool gave, beside what the tool itself told. */
export interface ToolTransition {
  /** Default 0; null when the tool failed by no fault of the agent. */
  reward?: number | boolean | null;
  done?: boolean;
  truncated?: boolean;
  metadata?: Record<string, unknown>;
}

/** As models and MCP clients take them. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Declares the tools of a contract; each session's environment brings the handlers, by the same names.
 * @throws OpenEnvError INVALID_TOOL for a name that is reserved (reset, step, state, close) or that clients do not take, and
 * for an input that is no object.
 * @example defineTools({ add: { description: "Adds.", input: z.object({ a: z.int(), b: z.int() }), output: z.int() } });
 */
export function defineTools<const T extends Tools>(tools: T): T {
  for (const [name, tool] of Object.entries(tools)) checkTool(name, tool);
  return tools;
}

function checkTool(name: string, tool: ToolDeclaration): void {
  if (RESERVED_TOOL_NAMES.includes(name)) {
    throw invalid(name, `the name is reserved, as are ${RESERVED_TOOL_NAMES.join(", ")}: choose another`);
  }
  if (!NAME.test(name)) throw invalid(name, "a name has 1 to 64 letters, digits, _ or -");
  if (typeof tool.description !== "string" || tool.description.trim() === "") {
    throw invalid(name, "give it a description, by which an agent decides whether to call it");
  }
  if (tool.input !== undefined && !(tool.input instanceof z.ZodObject)) {
    throw invalid(name, "its input must be a z.object({ … }), whose fields are the arguments");
  }
  const { timeoutMs = 1 } = tool;
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS)) {
    throw invalid(name, `its timeoutMs must be from 1 to ${MAX_TIMER_MS} milliseconds, not ${timeoutMs}`);
  }
}

function invalid(name: string, reason: string): OpenEnvError {
  return new OpenEnvError("INVALID_TOOL", `The tool "${name}" cannot be defined: ${reason}.`);
}
