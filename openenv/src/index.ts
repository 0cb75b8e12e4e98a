export {
  type Action,
  type ActionInput,
  type Contract,
  type ContractOptions,
  defineContract,
  type Observation,
  type ObservationInput,
  type ResetFields,
  type ResetInput,
  type State,
  type StateInput,
  type ToolContractOptions,
} from "./env/contract.js";
export {
  type CallContext,
  defineEnvironment,
  type Environment,
  type EnvironmentDefinition,
  type EnvironmentOptions,
  type MaybePromise,
  type ResetRequest,
  type StepContext,
  type Transition,
} from "./env/environment.js";
export { type Bytes, bytes, datetime, image } from "./env/fields.js";
export type { Policy, Turn } from "./env/policy.js";
export { type Rng, rng } from "./env/rng.js";
export type { Task, TaskProvider, TaskSplit } from "./env/tasks.js";
export type { CallToolAction, ToolObservation } from "./env/tool-schemas.js";
export {
  defineTools,
  type ToolCall,
  type ToolContext,
  type ToolDeclaration,
  type ToolHandlers,
  type ToolInput,
  type ToolOutput,
  type Tools,
  type ToolTransition,
} from "./env/tools.js";
export { composeTransforms, type Transform } from "./env/transform.js";
export {
  ConfigError,
  ConnectionError,
  ContractMismatchError,
  EnvError,
  ERRORS,
  type ErrorCode,
  OpenEnvError,
  RemoteError,
  ToolError,
  type ToolErrorType,
  type ValidationIssue,
} from "./errors.js";
export { EPISODE_FORMAT, type EpisodeRecord, parseEpisode, type RecordedStep } from "./protocol/episode.js";
