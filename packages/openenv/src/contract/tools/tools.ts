import * as z from "zod";
import { OpenEnvError } from "../../errors.js";
import { RESERVED_TOOL_NAMES, type ToolErrorBody } from "../../protocol/tools.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";
import type { Rng } from "../../util/rng.js";
import type { MaybePromise } from "../../util/types.js";
import {
  type AsZodObject,
  type AsZodType,
  isForeignSchema,
  type ObjectStandardSchema,
  type StandardSchema,
  toZodObject,
  toZodType,
} from "../standard-schema.js";

/** The declaration of a tool; its handler is a member of the environment's `tools`. */
export interface ToolDeclaration {
  /** What the tool does and when to call it, written for the agent. */
  description: string;
  /** A name for people. */
  title?: string;
  /**
   * The arguments; default none. Unknown arguments are rejected; scalars that do not fit are coerced, such as `"5"`.
   */
  input?: z.ZodObject;
  /** What the handler returns; default any JSON. */
  output?: z.ZodType;
  /** The mode in which the tool is offered; default both. */
  mode?: "simulation" | "production";
  /** Milliseconds a call may take; default 30,000. */
  timeoutMs?: number;
}

/** The declaration of a tool with schemas of any library that implements {@link StandardSchema}. */
export interface GivenTool extends Omit<ToolDeclaration, "input" | "output"> {
  input?: ObjectStandardSchema;
  output?: StandardSchema;
}
export type GivenTools = Readonly<Record<string, GivenTool>>;

/** Tools with zod schemas of the same types. */
export type AsZodTools<T extends GivenTools> = T extends Tools
  ? T
  : {
      readonly [K in keyof T]: {
        [P in keyof T[K]]: P extends "input" ? AsZodObject<T[K][P]> : P extends "output" ? AsZodType<T[K][P]> : T[K][P];
      };
    };

/** Tools by their names. */
export type Tools = Readonly<Record<string, ToolDeclaration>>;
export type NoTools = Readonly<Record<never, never>>;

/** What a handler receives in addition to its arguments. */
export interface ToolContext {
  /** Aborts when the call times out, the client disconnects or the server stops. */
  readonly signal: AbortSignal;
  /**
   * The random numbers of the episode, seeded by the seed of the reset, or by a random one. Their state is part of every
   * snapshot. Read it in each call: another generator continues after a restore.
   */
  readonly rng: Rng;
  /** The time in milliseconds since 1970, never going back within a process. A replay gets the same times. */
  readonly now: () => number;
  /**
   * Calls `effect` and returns its result, plain JSON. A replay gets the recorded result, or error, and does not call
   * `effect`, which therefore must not use the context. Await it before the call ends. The key, made of session, event
   * and name, lets the other side recognise an effect that is repeated after a crash. Rejects with the effect's error.
   */
  readonly record: RecordEffect;
}

/** Type of {@link ToolContext.record}. */
export type RecordEffect = <T>(name: string, effect: (idempotencyKey: string) => MaybePromise<T>) => Promise<T>;

/** What a tool's handler receives: the validated arguments with defaults filled in. */
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
/**
 * Declared as a method: parameters of methods are bivariant, so handlers of specific tools fit `ToolHandlers<Tools>`.
 */
type Handler<I, O> = { call(input: I, context: ToolContext): MaybePromise<O> }["call"];

/** A finished tool call of a step, with its result. */
export interface ToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** What the tool returned; undefined when the call failed. */
  readonly result: unknown;
  /** Why the call failed; undefined when it did not. */
  readonly error: ToolErrorBody | undefined;
}

/** The outcome of a step that called a tool, in addition to the tool's result. */
export interface ToolTransition {
  /** Default 0; null when the tool failed through no fault of the agent. */
  reward?: number | boolean | null;
  done?: boolean;
  truncated?: boolean;
  metadata?: Record<string, unknown>;
}

/** The names that models and MCP clients accept. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Declares the tools of a contract; each session's environment provides a handler of the same name.
 * @throws OpenEnvError INVALID_TOOL for a reserved name (reset, step, state, close), a name that clients do not accept,
 * a missing description, an invalid timeout, or an input that is not an object.
 * @example defineTools({ add: { description: "Adds.", input: z.object({ a: z.int(), b: z.int() }), output: z.int() } });
 */
export function defineTools<const T extends GivenTools>(tools: T): AsZodTools<T> {
  const declared = Object.entries(tools).map(([name, tool]) => [name, toTool(name, tool)] as const);
  for (const [name, tool] of declared) checkTool(name, tool);
  return Object.fromEntries(declared) as AsZodTools<T>;
}

function toTool(name: string, { input, output, ...rest }: GivenTool): ToolDeclaration {
  const place = (part: string): string => `The ${part} of the tool "${name}"`;
  const schemas = {
    input: isForeignSchema(input) ? toZodObject(input, place("input"), "input") : input,
    output: isForeignSchema(output) ? toZodType(output, place("output")) : output,
  };
  return {
    ...rest,
    ...(schemas.input && { input: schemas.input as z.ZodObject }),
    ...(schemas.output && { output: schemas.output as z.ZodType }),
  };
}

function checkTool(name: string, tool: ToolDeclaration): void {
  if (RESERVED_TOOL_NAMES.includes(name)) {
    throw invalid(name, `the names ${RESERVED_TOOL_NAMES.join(", ")} are reserved; choose another name`);
  }
  if (!NAME.test(name)) throw invalid(name, "a name must have 1 to 64 letters, digits, _ or -");
  if (typeof tool.description !== "string" || tool.description.trim() === "") {
    throw invalid(name, "it needs a description, from which an agent decides whether to call it");
  }
  if (tool.input !== undefined && !(tool.input instanceof z.ZodObject)) {
    throw invalid(name, "its input must be a z.object({ … }), whose fields are the arguments");
  }
  const { timeoutMs = 1 } = tool;
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS)) {
    throw invalid(name, `its timeoutMs must be between 1 and ${MAX_TIMER_MS} milliseconds, got ${timeoutMs}`);
  }
}

function invalid(name: string, reason: string): OpenEnvError {
  return new OpenEnvError("INVALID_TOOL", `The tool "${name}" cannot be defined: ${reason}.`);
}
