import "./util/require-zod.js";

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
} from "./contract/contract.js";
export { type Bytes, bytes, datetime, image } from "./contract/fields.js";
export type { CallToolAction, ToolObservation } from "./contract/tools/tool-schemas.js";
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
} from "./contract/tools/tools.js";
export {
  type ChatEndpointOptions,
  type ChatMessage,
  type ChatModel,
  createChatEndpoint,
} from "./environment/chat-endpoint.js";
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
} from "./environment/environment.js";
export type { Policy, PolicyInput } from "./environment/policy.js";
export { type DiscountingOptions, ExponentialDiscounting } from "./environment/rubrics/discounting.js";
export { Gate } from "./environment/rubrics/gate.js";
export { LLMJudge, type LLMJudgeOptions } from "./environment/rubrics/llm-judge.js";
export {
  type NamedRubric,
  type PostHook,
  type PreHook,
  Rubric,
  type RubricState,
  type ScoreContext,
} from "./environment/rubrics/rubric.js";
export { RubricDict } from "./environment/rubrics/rubric-dict.js";
export { RubricList } from "./environment/rubrics/rubric-list.js";
export { Sequential } from "./environment/rubrics/sequential.js";
export { type TrajectoryOptions, TrajectoryRubric, type TrajectoryStep } from "./environment/rubrics/trajectory.js";
export { WeightedSum } from "./environment/rubrics/weighted-sum.js";
export { parseJsonl } from "./environment/tasks/jsonl.js";
export { createTasks, type TaskList, type TaskLists } from "./environment/tasks/task-lists.js";
export type { Task, TaskProvider, TaskSplit } from "./environment/tasks/tasks.js";
export { composeTransforms, type Transform } from "./environment/transform.js";
export {
  ConfigError,
  ConnectionError,
  ContractMismatchError,
  EnvironmentError,
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
export type { TextSpan, TextTone, ViewPart } from "./protocol/web.js";
export { type Rng, rng } from "./util/rng.js";
