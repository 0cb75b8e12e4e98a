import { encodeReset, type ResetOptions } from "../../protocol/codec.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ClientContract, Received, Sent } from "../contract.js";
import { ToolCallError, toToolCallResult } from "../mcp-result.js";
import type { CallOptions } from "../options.js";
import {
  type EpisodeState,
  type FailedResult,
  parseResult,
  parseState,
  type StepResult,
  toFailedResult,
} from "../result.js";
import type { Shape } from "../shape.js";
import { callAction, type ToolCallInput, type ToolName, type ToolStepResult } from "../tool-methods.js";
import { asFailure, isFailure, type LaneFailure, type LaneMethod, type Lanes } from "./lanes.js";

export type Reset<C extends ClientContract> = ResetOptions & Sent<C["reset"]>;
export type Result<C extends ClientContract> = StepResult<Received<C["observation"]>> | FailedResult;
export type State<C extends ClientContract> = (EpisodeState & Received<C["state"]>) | FailedResult;

/** Calls of many sessions, each with its own values; both are by the index of the session. */
export interface Calls<C extends ClientContract> {
  reset(values: ReadonlyMap<number, Reset<C>>, options?: CallOptions): Promise<Map<number, Result<C>>>;
  step(actions: ReadonlyMap<number, Sent<C["action"]>>, options?: CallOptions): Promise<Map<number, Result<C>>>;
  callTools<K extends ToolName<C>>(
    calls: ReadonlyMap<number, ToolCallInput<C, K>>,
    options?: CallOptions,
  ): Promise<Map<number, ToolStepResult<C, K>>>;
  state(indexes: Iterable<number>, options?: CallOptions): Promise<Map<number, State<C>>>;
}

export interface CallsParts {
  lanes: Lanes;
  shape: Shape;
  timeoutMs: number;
}

export function createCalls<C extends ClientContract>({ lanes, shape, timeoutMs }: CallsParts): Calls<C> {
  /** Values that do not fit fail alone, before anything is sent. */
  const call = async <V, R>(
    method: LaneMethod,
    values: ReadonlyMap<number, V>,
    { encode, decode, options }: Coding<V, R> & { options: CallOptions },
  ): Promise<Map<number, R | FailedResult>> => {
    const results = new Map<number, R | FailedResult>();
    const data = new Map<number, JsonObject>();
    for (const [index, value] of values) {
      const encoded = attempt(() => encode(value));
      if (isFailure(encoded)) results.set(index, toFailedResult(encoded));
      else data.set(index, encoded);
    }
    const limits = { timeoutMs: options.timeoutMs ?? timeoutMs, signal: options.signal };
    for (const [index, answer] of await lanes.call(method, data, limits)) {
      const sent = data.get(index) as JsonObject;
      const result = isFailure(answer) ? answer : attempt(() => decode(answer, index, sent));
      results.set(index, isFailure(result) ? toFailedResult(result) : result);
    }
    return results;
  };

  type Read = (observation: JsonObject) => JsonObject;
  const decodeResult = (data: JsonObject, index: number, read: Read): StepResult<Received<C["observation"]>> => {
    const result = parseResult(data, lanes.extensionsOf(index));
    return { ...result, observation: read(result.observation) as Received<C["observation"]> };
  };

  const decodeCall = (name: string, data: JsonObject, index: number) => {
    const { observation, ...step } = parseResult(data, lanes.extensionsOf(index));
    try {
      const { result, error } = observation;
      const called = toToolCallResult(name, { result, error }, step);
      return { ...step, name, data: shape.readCall(name, called.data), text: called.text, error: null };
    } catch (error) {
      if (!(error instanceof ToolCallError)) throw error;
      return { ...step, name, data: null, text: "", error };
    }
  };

  return {
    reset: (values, options = {}) => {
      const encode = ({ seed, episodeId, split, index, ...own }: Reset<C>): JsonObject =>
        encodeReset({ seed, episodeId, split, index, ...shape.write("reset", own) });
      const read: Read = (shown) => shape.read("observation", shown);
      return call("reset", values, { encode, decode: (data, index) => decodeResult(data, index, read), options });
    },
    step: (actions, options = {}) => {
      const encode = (action: Sent<C["action"]>): JsonObject => shape.write("action", action);
      const decode = (data: JsonObject, index: number, sent: JsonObject) =>
        decodeResult(data, index, (shown) => shape.readStep(sent, shown));
      return call("step", actions, { encode, decode, options });
    },
    callTools: <K extends ToolName<C>>(calls: ReadonlyMap<number, ToolCallInput<C, K>>, options: CallOptions = {}) => {
      const encode = ({ name, arguments: given = {} }: AnyCall): JsonObject =>
        callAction(name, shape.writeCall(name, given));
      const decode = (data: JsonObject, index: number, sent: JsonObject) =>
        decodeCall(String(sent["tool_name"]), data, index);
      const results = call("step", calls as ReadonlyMap<number, AnyCall>, { encode, decode, options });
      return results as Promise<Map<number, ToolStepResult<C, K>>>;
    },
    state: (indexes, options = {}) => {
      const decode = (data: JsonObject): EpisodeState & Received<C["state"]> => {
        const { episode_id, step_count, ...fields } = parseState(data);
        return { episode_id, step_count, ...shape.read("state", fields) } as EpisodeState & Received<C["state"]>;
      };
      const values = new Map(Array.from(indexes, (index) => [index, {}]));
      return call("state", values, { encode: (none: JsonObject) => none, decode, options });
    },
  };
}

interface Coding<V, R> {
  encode(value: V): JsonObject;
  decode(data: JsonObject, index: number, sent: JsonObject): R;
}

interface AnyCall {
  name: string;
  arguments?: JsonObject;
}

function attempt<T>(work: () => T): T | LaneFailure {
  try {
    return work();
  } catch (error) {
    return asFailure(error);
  }
}
