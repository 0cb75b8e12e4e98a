import type { ClientContract, GenericContract, Sent } from "../contract.js";
import type { CallOptions } from "../options.js";
import type { ToolCallInput, ToolName, ToolStepResult } from "../tool-methods.js";
import { byIndex, inOrder, resetsByIndex } from "./by-index.js";
import { type CallsParts, createCalls, type Reset, type Result, type State } from "./calls.js";

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
  reset(options?: Reset<C> | readonly (Reset<C> | null)[], call?: CallOptions): Promise<(Result<C> | null)[]>;
  /** One action for each session; null leaves one alone. */
  step(actions: readonly (Sent<C["action"]> | null)[], call?: CallOptions): Promise<(Result<C> | null)[]>;
  /**
   * A call of a tool for each session, which is a step; null leaves one alone. Sessions can call different tools.
   * @example await envs.callTools([{ name: "search", arguments: { text: "Du" } }, { name: "hint" }, null]);
   */
  callTools<K extends ToolName<C>>(
    calls: readonly (ToolCallInput<C, K> | null)[],
    call?: CallOptions,
  ): Promise<(ToolStepResult<C, K> | null)[]>;
  state(call?: CallOptions): Promise<State<C>[]>;
  /** Ends all sessions. Doing it twice does no harm. */
  close(): Promise<void>;
}

export interface ManyClientParts extends CallsParts {
  url: string;
  size: number;
}

export function createManyClient<C extends ClientContract>({ url, size, ...parts }: ManyClientParts): ManyClient<C> {
  const calls = createCalls<C>(parts);
  const close = (): Promise<void> => parts.lanes.close();
  return {
    url,
    size,
    reset: async (given = {} as Reset<C>, call) => inOrder(await calls.reset(resetsByIndex(given, size), call), size),
    step: async (actions, call) => inOrder(await calls.step(byIndex(actions, size), call), size),
    callTools: async (given, call) => inOrder(await calls.callTools(byIndex(given, size), call), size),
    state: async (call) => inOrder(await calls.state(Array(size).keys(), call), size) as State<C>[],
    close,
    [Symbol.asyncDispose]: close,
  };
}
