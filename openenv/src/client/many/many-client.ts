import { ConnectionError, RemoteError } from "../../errors.js";
import { encodeReset, type ResetOptions } from "../../protocol/codec.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ClientContract, GenericContract, Received, Sent } from "../contract.js";
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
import type { LaneMethod, Lanes } from "./lanes.js";

type Own<C extends ClientContract> = ResetOptions & Sent<C["reset"]>;
type Result<C extends ClientContract> = StepResult<Received<C["observation"]>> | FailedResult | null;

/**
 * Many sessions of one environment, called together. Results come in the order of the sessions, null for one that was
 * left out. No call rejects because of a session: what failed has `outcome` `env_error` (the server answered an error, or
 * refused the session) or `lost` (the episode is gone until that session is reset), to be masked.
 */
export interface ManyClient<C extends ClientContract = GenericContract> extends AsyncDisposable {
  /** `http://host:port/prefix`. */
  readonly url: string;
  /** How many sessions. */
  readonly size: number;
  /** Starts an episode in every session, with the same options or each with its own; null leaves one alone. */
  reset(options?: Own<C> | readonly (Own<C> | null)[], call?: CallOptions): Promise<Result<C>[]>;
  /** One action for each session; null leaves one alone. */
  step(actions: readonly (Sent<C["action"]> | null)[], call?: CallOptions): Promise<Result<C>[]>;
  state(call?: CallOptions): Promise<((EpisodeState & Received<C["state"]>) | FailedResult)[]>;
  /** Ends all sessions. Doing it twice does no harm. */
  close(): Promise<void>;
}

export interface ManyClientParts {
  url: string;
  size: number;
  lanes: Lanes;
  shape: Shape;
  timeoutMs: number;
}

export function createManyClient<C extends ClientContract>(parts: ManyClientParts): ManyClient<C> {
  const { url, size, lanes, shape } = parts;

  /** Values that do not fit fail alone, before anything is sent. */
  const call = async <V, R>(
    method: LaneMethod,
    values: readonly (V | null)[],
    { encode, decode, options }: { encode(value: V): JsonObject; decode(data: JsonObject): R; options: CallOptions },
  ): Promise<(R | FailedResult | null)[]> => {
    if (values.length !== size) {
      throw new TypeError(`There are ${size} sessions, and ${values.length} values for them: give one each, or null.`);
    }
    const encoded = values.map((value) => (value === null ? null : attempt(() => encode(value))));
    const data = encoded.map((value) => (isFailure(value) ? null : value));
    const limits = { timeoutMs: options.timeoutMs ?? parts.timeoutMs, signal: options.signal };
    const answers = await lanes.call(method, data, limits);
    return answers.map((answer, index) => {
      const unsent = encoded[index];
      if (isFailure(unsent)) return toFailedResult(unsent);
      if (answer === null) return null;
      const result = isFailure(answer) ? answer : attempt(() => decode(answer));
      return isFailure(result) ? toFailedResult(result) : result;
    });
  };

  const transition = (data: JsonObject): StepResult<Received<C["observation"]>> => {
    const result = parseResult(data, lanes.extensions);
    return { ...result, observation: shape.read("observation", result.observation) as Received<C["observation"]> };
  };

  return {
    url,
    size,
    reset: (given = {} as Own<C>, options = {}) => {
      const values = Array.isArray(given) ? (given as (Own<C> | null)[]) : Array<Own<C>>(size).fill(given as Own<C>);
      const encode = ({ seed, episodeId, split, index, ...own }: Own<C>): JsonObject =>
        encodeReset({ seed, episodeId, split, index, ...shape.write("reset", own) });
      return call("reset", values, { encode, decode: transition, options });
    },
    step: (actions, options = {}) =>
      call("step", actions, { encode: (action) => shape.write("action", action), decode: transition, options }),
    state: async (options = {}) => {
      const decode = (data: JsonObject): EpisodeState & Received<C["state"]> => {
        const { episode_id, step_count, ...fields } = parseState(data);
        return { episode_id, step_count, ...shape.read("state", fields) } as EpisodeState & Received<C["state"]>;
      };
      const states = await call("state", Array<JsonObject>(size).fill({}), { encode: (none) => none, decode, options });
      return states as ((EpisodeState & Received<C["state"]>) | FailedResult)[];
    },
    close: () => lanes.close(),
    [Symbol.asyncDispose]: () => lanes.close(),
  };
}

function attempt<T>(work: () => T): T | RemoteError | ConnectionError {
  try {
    return work();
  } catch (error) {
    if (isFailure(error)) return error;
    throw error;
  }
}

function isFailure(value: unknown): value is RemoteError | ConnectionError {
  return value instanceof RemoteError || value instanceof ConnectionError;
}
