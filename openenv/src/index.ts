import "./util/require-zod.js";

export { type AskChat, type ChatEndpointOptions, type ChatMessage, createChatEndpoint } from "./env/chat-endpoint.js";
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
  type ActionChoice,
  type CallContext,
  defineEnvironment,
  type Environment,
  type EnvironmentDefinition,
  type EnvironmentOptions,
  type MaybePromise,
  type ResetRequest,
  type ScoredAction,
  type ScoredObservation,
  type StepContext,
  type Transition,
} from "./env/environment.js";
export { type Bytes, bytes, datetime, image } from "./env/fields.js";
export { parseJsonl } from "./env/jsonl.js";
export type { Policy, Turn } from "./env/policy.js";
export { type Rng, rng } from "./env/rng.js";
export {
  type NamedRubric,
  type PostHook,
  type PreHook,
  Rubric,
  type RubricState,
  type ScoreContext,
} from "./env/rubric.js";
export { type DiscountingOptions, ExponentialDiscounting } from "./env/rubrics/discounting.js";
export { Gate } from "./env/rubrics/gate.js";
export { LLMJudge, type LLMJudgeOptions } from "./env/rubrics/llm-judge.js";
export { RubricDict } from "./env/rubrics/rubric-dict.js";
export { RubricList } from "./env/rubrics/rubric-list.js";
export { Sequential } from "./env/rubrics/sequential.js";
export { type TrajectoryOptions, TrajectoryRubric, type TrajectoryStep } from "./env/rubrics/trajectory.js";
export { WeightedSum } from "./env/rubrics/weighted-sum.js";
export { createTasks, type ListedTasks, type TaskList } from "./env/task-lists.js";
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
  ProviderError,
  RemoteError,
  RubricError,
  ToolError,
  type ToolErrorType,
  type ValidationIssue,
} from "./errors.js";
export { EPISODE_FORMAT, type EpisodeRecord, parseEpisode, type RecordedStep } from "./protocol/episode.js";
export type { TextRun, Tone, ViewPart } from "./protocol/web.js";
