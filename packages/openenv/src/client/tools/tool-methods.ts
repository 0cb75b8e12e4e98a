import type { JsonObject } from "../../protocol/messages.js";
import type { ClientContract, ClientSchema, ClientTool, GenericContract, Received } from "../contract/contract.js";
import type { Shape } from "../contract/shape.js";
import type { CallOptions } from "../options.js";
import { type FailedResult, parseResult, type StepResult, type VectorPosition } from "../result.js";
import type { ClientSession } from "../transport/session.js";
import { type ToolCallError, type ToolCallResult, toToolCallResult } from "./mcp-result.js";

/**
 * The tools of an environment as methods: those of the contract, without one those that `GET /schema` lists.
 * @example const { data } = await env.tools.search({ text: "Du" });
 */
export type ToolMethods<C extends ClientContract> = {
  readonly [K in keyof ToolsOf<C>]: ToolMethod<ToolsOf<C>[K]>;
};

type ToolsOf<C extends ClientContract> = C extends { readonly tools: infer T }
  ? T
  : Readonly<Record<string, ClientTool>>;

/**
 * Calls a tool. Arguments with defaults may be left out.
 * @throws ToolCallError when the tool gave no result, also for wrong arguments, which the server checks; RemoteError or
 * ConnectionError when it was not called.
 */
type ToolMethod<T> = Method<Arguments<T>, Data<T>>;
/** A method, so that a client of known tools is also a client of any. */
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

/** The names of the tools of a contract; any string without one. */
export type ToolName<C extends ClientContract> = keyof ToolsOf<C> & string;

/**
 * One call of a tool, as clients of many sessions take it. Arguments with defaults may be left out.
 * @example { name: "search", arguments: { text: "Du" } }
 */
export type ToolCallInput<C extends ClientContract, K extends ToolName<C> = ToolName<C>> =
  K extends ToolName<C> ? { readonly name: K } & GivenArguments<Arguments<ToolsOf<C>[K]>> : never;
type GivenArguments<A> = Record<never, never> extends A ? { readonly arguments?: A } : { readonly arguments: A };

/**
 * What a call gave in one of many sessions. `error` is null when the tool returned `data`; a ToolCallError when the call
 * was made and failed, which is a step with its own `outcome`, `reward` and `done`; else the call was not made.
 */
export type ToolStepResult<C extends ClientContract, K extends ToolName<C> = ToolName<C>> =
  | (K extends ToolName<C> ? Called<K, Data<ToolsOf<C>[K]>, null> : never)
  | Called<K, null, ToolCallError>
  | FailedResult;

/**
 * What a call gave in a session of a vector environment. Where autoreset began an episode instead it is the result of that
 * reset, without `error`.
 */
export type VectorToolResult<C extends ClientContract = GenericContract, K extends ToolName<C> = ToolName<C>> = (
  | ToolStepResult<C, K>
  | (StepResult<Received<C["observation"]>> & { readonly error?: undefined })
) &
  VectorPosition<C>;

interface Called<K, D, E> extends Omit<StepResult, "observation"> {
  /** The tool. */
  readonly name: K;
  /** What the tool returned. */
  readonly data: D;
  /** The same for a language model. */
  readonly text: string;
  readonly error: E;
}

/** The action that calls a tool, with arguments as they go on the wire. */
export function callAction(name: string, given: JsonObject): JsonObject {
  return { type: "call_tool", tool_name: name, arguments: given };
}

/** Calls a tool with what is written already, and gives what came of it as it is. */
export type CallTool = (name: string, given: JsonObject, call: CallOptions) => Promise<ToolCallResult>;

/** Calls tools by steps. */
export function callByStep(session: ClientSession, timeoutMs: number): CallTool {
  return async (name, given, call) => {
    const data = callAction(name, given);
    const limits = { timeoutMs: call.timeoutMs ?? timeoutMs, signal: call.signal };
    const answer = await session.call({ type: "step", data }, limits);
    const { observation, ...rest } = parseResult(answer, session.extensions);
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
