import type { ResetOptions } from "../../protocol/codec/codec.js";
import type { MetadataBody } from "../../protocol/http.js";
import type { ClientContract, GenericContract, Received, Sent } from "../contract/contract.js";
import type { CallOptions, ConnectOptions, StepOptions } from "../options.js";
import type { EpisodeState, FailedResult, StepResult } from "../result.js";
import type { TaskClient } from "../tasks.js";
import type { ToolMethods } from "../tools/tool-methods.js";

/** As those of `connect`; a thread that waits cannot be aborted. */
export type SyncConnectOptions = Omit<ConnectOptions, "signal">;
export type SyncCallOptions = Omit<CallOptions, "signal">;
export type SyncStepOptions = Omit<StepOptions, "signal">;

/** A method that waits for its answer instead of promising it. */
type Blocking<M> = M extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;
export type SyncTaskClient = { [M in keyof TaskClient]: Blocking<TaskClient[M]> };
export type SyncToolMethods<C extends ClientContract> = {
  readonly [M in keyof ToolMethods<C>]: Blocking<ToolMethods<C>[M]>;
};

/** One session of an environment, as `EnvClient`, with calls that block until the answer is there. */
export interface SyncEnvClient<C extends ClientContract = GenericContract> extends Disposable {
  /** `http://host:port/prefix`. */
  readonly url: string;
  /** True when the episode is gone: `step` and `state` are refused until `reset`. */
  readonly sessionLost: boolean;
  readonly tasks: SyncTaskClient;
  /** The tools of the environment as methods; a call is a step. Empty for a server that does not publish its tools. */
  readonly tools: SyncToolMethods<C>;
  /** Starts an episode; after a loss on a new session. */
  reset(options?: ResetOptions & Sent<C["reset"]>, call?: SyncCallOptions): StepResult<Received<C["observation"]>>;
  /** As `reset`, but a failure is a result with `outcome` `env_error` or `lost`, to be masked. */
  tryReset(
    options?: ResetOptions & Sent<C["reset"]>,
    call?: SyncCallOptions,
  ): StepResult<Received<C["observation"]>> | FailedResult;
  step(action: Sent<C["action"]>, call?: SyncStepOptions): StepResult<Received<C["observation"]>>;
  /** As `step`, but a failure is a result with `outcome` `env_error` or `lost`, to be masked. */
  tryStep(action: Sent<C["action"]>, call?: SyncStepOptions): StepResult<Received<C["observation"]>> | FailedResult;
  state(call?: SyncCallOptions): EpisodeState & Received<C["state"]>;
  /** What the environment says about itself. */
  metadata(): MetadataBody;
  /** Ends the session and its thread. Doing it twice does no harm. */
  close(): void;
}
