import type { JsonObject } from "../../protocol/messages.js";
import type { ClientContract, ClientSchema, ClientTool, GenericContract, Received } from "../contract/contract.js";
import type { Shape } from "../contract/shape.js";
import type { CallOptions } from "../options.js";
import { type FailedResult, parseResult, type StepResult, type VectorPosition } from "../result.js";
import { traced } from "../tracing.js";
import type { ClientSession } from "../transport/session.js";
import { type ToolCallError, type ToolCallResult, toToolCallResult } from "./mcp-result.js";

/**
 * The tools of an environment as methods: those of the contract or, without one, those that `GET /schema` lists.
 * @example const { data } = await env.tools.search({ text: "Du" });
 */
export type ToolMethods<C extends ClientContract> = {
  readonly [K in keyof ToolsOf<C>]: ToolMethod<ToolsOf<C>[K]>;
};

type ToolsOf<C extends ClientContract> = C extends { readonly tools: infer T }
  ? T
  : Readonly<Record<string, ClientTool>>;

/**
 * Calls a tool. Arguments with defaults are optional.
 * @throws ToolCallError when the tool returned no result, or the server found invalid arguments; RemoteError or
 * ConnectionError when it was not called.
 */
type ToolMethod<T> = Method<Arguments<T>, Data<T>>;
/** Declared as a method, so that a client of known tools is assignable to a client of any tools. */
type Method<A, D> = {
  call(
    ...given: Record<never, never> extends A ? [given?: A, call?: CallOptions] : [given: A, call?: CallOptions]
  ): Promise<ToolCallResult<D>>;
}["call"];

type Arguments<T> = T extends { input: infer I extends ClientSchema }
  ? NonNullable<I["~standard"]["types"]>["input"]
  : "input" extends keyof T
    ? JsonObject
    : Record<string, never>;
type Data<T> = T extends { output: infer O extends ClientSchema }
  ? NonNullable<O["~standard"]["types"]>["output"]
  : unknown;

/** The names of the tools of a contract; any string without a contract. */
export type ToolName<C extends ClientContract> = keyof ToolsOf<C> & string;

/**
 * One tool call of a vector environment. Arguments with defaults are optional.
 * @example { name: "search", arguments: { text: "Du" } }
 */
export type ToolCallInput<C extends ClientContract, K extends ToolName<C> = ToolName<C>> =
  K extends ToolName<C> ? { readonly name: K } & GivenArguments<Arguments<ToolsOf<C>[K]>> : never;
type GivenArguments<A> = Record<never, never> extends A ? { readonly arguments?: A } : { readonly arguments: A };

/**
 * The result of a tool call in one of many sessions. `error` is null when the tool returned `data`. A ToolCallError
 * means that the call failed, which is a step with its own `outcome`, `reward` and `done`; any other error means that
 * the tool was not called.
 */
export type ToolStepResult<C extends ClientContract, K extends ToolName<C> = ToolName<C>> =
  | (K extends ToolName<C> ? Called<K, Data<ToolsOf<C>[K]>, null> : never)
  | Called<K, null, ToolCallError>
  | FailedResult;

/**
 * The result of a tool call in a session of a vector environment. If autoreset started an episode instead, it is the
 * result of that reset, without `error`.
 */
export type VectorToolResult<C extends ClientContract = GenericContract, K extends ToolName<C> = ToolName<C>> = (
  | ToolStepResult<C, K>
  | (StepResult<Received<C["observation"]>> & { readonly error?: undefined })
) &
  VectorPosition<C>;

interface Called<K, D, E> extends Omit<StepResult, "observation"> {
  /** The name of the tool. */
  readonly name: K;
  /** What the tool returned. */
  readonly data: D;
  /** The result as text, for a language model. */
  readonly text: string;
  readonly error: E;
}

/** The action that calls a tool, with encoded arguments. */
export function callAction(name: string, given: JsonObject): JsonObject {
  return { type: "call_tool", tool_name: name, arguments: given };
}

/** Calls a tool with encoded arguments and returns its result as received. */
export type CallTool = (name: string, given: JsonObject, call: CallOptions) => Promise<ToolCallResult>;

/** Calls tools by steps. */
export function callByStep(session: ClientSession): CallTool {
  return async (name, given, call) => {
    const data = callAction(name, given);
    const answer = await traced({ method: "step", data }, (add) =>
      session.call({ type: "step", data: add(data) }, call),
    );
    const { observation, ...rest } = parseResult(answer.data, session.extensions);
    return toToolCallResult(name, { result: observation["result"], error: observation["error"] }, rest);
  };
}

export function createToolMethods<C extends ClientContract>(shape: Shape, callTool: CallTool): ToolMethods<C> {
  const method =
    (name: string) =>
    async (given: JsonObject = {}, call: CallOptions = {}): Promise<ToolCallResult> => {
      const result = await callTool(name, shape.writeCall(name, given), call);
      return { ...result, data: shape.readCall(name, result.data) };
    };
  return Object.fromEntries(shape.tools.map((name) => [name, method(name)])) as unknown as ToolMethods<C>;
}
