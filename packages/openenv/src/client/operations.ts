import { encodeReset } from "../protocol/codec/codec.js";
import type { JsonObject } from "../protocol/messages.js";
import type { ClientContract, Received, Sent } from "./contract/contract.js";
import type { Shape } from "./contract/shape.js";
import type { ResetValues } from "./options.js";
import { type EpisodeState, parseResult, parseState, type StepResult } from "./result.js";
import { ToolCallError, toToolCallResult } from "./tools/mcp-result.js";
import { callAction, type ToolStepResult } from "./tools/tool-methods.js";

export type Method = "reset" | "step" | "state";

/** One kind of call: encodes its value and decodes its answer. */
export interface Operation<V, R> {
  readonly method: Method;
  /** The data of the frame. @throws RemoteError VALIDATION_ERROR when the value is invalid. */
  encode(value: V): JsonObject;
  /** `sent` is what `encode` returned. @throws ConnectionError PROTOCOL_ERROR when the answer is invalid. */
  decode(data: JsonObject, extensions: readonly string[], sent: JsonObject): R;
}

type Observation<C extends ClientContract> = Received<C["observation"]>;

/** The calls of an environment, shared by clients of one session and of many. */
export interface Operations<C extends ClientContract> {
  reset: Operation<ResetValues<C>, StepResult<Observation<C>>>;
  step: Operation<Sent<C["action"]>, StepResult<Observation<C>>>;
  /** A step that calls a tool: a failed call is a result with an `error`. */
  callTool: Operation<{ name: string; arguments?: unknown }, ToolStepResult<C>>;
  state: Operation<undefined, EpisodeState & Received<C["state"]>>;
}

export function createOperations<C extends ClientContract>(shape: Shape): Operations<C> {
  return {
    reset: {
      method: "reset",
      encode: (options) => {
        const { seed, episodeId, split, index, ...own } = options;
        return encodeReset({ seed, episodeId, split, index, ...shape.write("reset", own) });
      },
      decode: (data, extensions) => {
        const result = parseResult(data, extensions);
        return { ...result, observation: shape.read("resetObservation", result.observation) as Observation<C> };
      },
    },
    step: {
      method: "step",
      encode: (action) => shape.write("action", action),
      decode: (data, extensions, sent) => {
        const result = parseResult(data, extensions);
        return { ...result, observation: shape.readStep(sent, result.observation) as Observation<C> };
      },
    },
    callTool: {
      method: "step",
      encode: ({ name, arguments: given = {} }) => callAction(name, shape.writeCall(name, given as JsonObject)),
      decode: (data, extensions, sent) =>
        decodeToolCall(shape, String(sent["tool_name"]), parseResult(data, extensions)),
    },
    state: {
      method: "state",
      encode: () => ({}),
      decode: (data) => {
        const { episode_id, step_count, ...fields } = parseState(data);
        return { episode_id, step_count, ...shape.read("state", fields) } as EpisodeState & Received<C["state"]>;
      },
    },
  };
}

function decodeToolCall<C extends ClientContract>(
  shape: Shape,
  name: string,
  { observation, ...step }: StepResult,
): ToolStepResult<C> {
  try {
    const { result, error } = observation;
    const called = toToolCallResult(name, { result, error }, step);
    const data = shape.readCall(name, called.data);
    return { ...step, name, data, text: called.text, error: null } as unknown as ToolStepResult<C>;
  } catch (error) {
    if (!(error instanceof ToolCallError)) throw error;
    return { ...step, name, data: null, text: "", error } as unknown as ToolStepResult<C>;
  }
}
