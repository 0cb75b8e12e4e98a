import type { ResetOptions } from "../../protocol/codec/codec.js";
import type { MetadataBody } from "../../protocol/index.js";
import type { Received, ReceivedByReset, Sent } from "../contract/contract.js";
// The entry is imported, so that the declarations of a program can name these types.
import type {
  CallOptions,
  ClientContract,
  ConnectOptions,
  EpisodeState,
  FailedResult,
  GenericContract,
  StepResult,
  TaskClient,
  ToolMethods,
} from "../index.js";
import type { ResumeOptions, StepOptions } from "../options.js";

/** The options of `connect` without `signal` and `onRecovered`: a blocked thread cannot abort, or be called. */
export type SyncConnectOptions = Omit<ConnectOptions, "signal" | "resume"> & {
  resume?: boolean | Omit<ResumeOptions, "onRecovered"> | undefined;
};
export type SyncCallOptions = Omit<CallOptions, "signal">;
export type SyncStepOptions = Omit<StepOptions, "signal">;

/** A method that returns its result instead of a promise. */
type Blocking<M> = M extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;
export type SyncTaskClient = { [M in keyof TaskClient]: Blocking<TaskClient[M]> };
export type SyncToolMethods<C extends ClientContract> = {
  readonly [M in keyof ToolMethods<C>]: Blocking<ToolMethods<C>[M]>;
};

/** One session of an environment, like `EnvClient`, with calls that block until the answer arrives. */
export interface SyncEnvClient<C extends ClientContract = GenericContract> extends Disposable {
  /** `http://host:port/prefix`. */
  readonly url: string;
  /** True when the episode is lost: `step` and `state` are rejected until a `reset` succeeds. */
  readonly sessionLost: boolean;
  readonly tasks: SyncTaskClient;
  /** The tools of the environment as methods; a call is a step. Empty if the server does not publish its tools. */
  readonly tools: SyncToolMethods<C>;
  /** Starts an episode; after a loss, on a new session. */
  reset(options?: ResetOptions & Sent<C["reset"]>, call?: SyncCallOptions): StepResult<ReceivedByReset<C>>;
  /** Does the same as `reset`, but a failure is a result with `outcome` `env_error` or `lost`, to be masked. */
  tryReset(
    options?: ResetOptions & Sent<C["reset"]>,
    call?: SyncCallOptions,
  ): StepResult<ReceivedByReset<C>> | FailedResult;
  step(action: Sent<C["action"]>, call?: SyncStepOptions): StepResult<Received<C["observation"]>>;
  /** Does the same as `step`, but a failure is a result with `outcome` `env_error` or `lost`, to be masked. */
  tryStep(action: Sent<C["action"]>, call?: SyncStepOptions): StepResult<Received<C["observation"]>> | FailedResult;
  state(call?: SyncCallOptions): EpisodeState & Received<C["state"]>;
  /** The environment's name, description and version. */
  metadata(): MetadataBody;
  /** Ends the session and its thread. Can be called more than once. */
  close(): void;
}
