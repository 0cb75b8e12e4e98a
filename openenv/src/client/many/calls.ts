import { encodeReset, type ResetOptions } from "../../protocol/codec.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ClientContract, Received, Sent } from "../contract.js";
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
import { asFailure, isFailure, type LaneFailure, type LaneMethod, type Lanes } from "./lanes.js";

export type Reset<C extends ClientContract> = ResetOptions & Sent<C["reset"]>;
export type Result<C extends ClientContract> = StepResult<Received<C["observation"]>> | FailedResult;
export type State<C extends ClientContract> = (EpisodeState & Received<C["state"]>) | FailedResult;

/** Calls of many sessions, each with its own values; both are by the index of the session. */
export interface Calls<C extends ClientContract> {
  reset(values: ReadonlyMap<number, Reset<C>>, options?: CallOptions): Promise<Map<number, Result<C>>>;
  step(actions: ReadonlyMap<number, Sent<C["action"]>>, options?: CallOptions): Promise<Map<number, Result<C>>>;
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
      const result = isFailure(answer) ? answer : attempt(() => decode(answer, index));
      results.set(index, isFailure(result) ? toFailedResult(result) : result);
    }
    return results;
  };

  const decodeResult = (data: JsonObject, index: number): StepResult<Received<C["observation"]>> => {
    const result = parseResult(data, lanes.extensionsOf(index));
    return { ...result, observation: shape.read("observation", result.observation) as Received<C["observation"]> };
  };

  return {
    reset: (values, options = {}) => {
      const encode = ({ seed, episodeId, split, index, ...own }: Reset<C>): JsonObject =>
        encodeReset({ seed, episodeId, split, index, ...shape.write("reset", own) });
      return call("reset", values, { encode, decode: decodeResult, options });
    },
    step: (actions, options = {}) =>
      call("step", actions, { encode: (action) => shape.write("action", action), decode: decodeResult, options }),
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
  decode(data: JsonObject, index: number): R;
}

function attempt<T>(work: () => T): T | LaneFailure {
  try {
    return work();
  } catch (error) {
    return asFailure(error);
  }
}
