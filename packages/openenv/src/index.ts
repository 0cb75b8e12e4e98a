import "./util/require-zod.js";

export {
  type Action,
  type ActionInput,
  type Contract,
  defineContract,
  type Observation,
  type ObservationInput,
  type State,
  type StateInput,
} from "./contract/contract.js";
export { type Bytes, bytes, datetime, image } from "./contract/fields.js";
export { type PublishedContract, proxyContract } from "./contract/proxy-contract.js";
export type { AsZodObject, AsZodType, ObjectStandardSchema, StandardSchema } from "./contract/standard-schema.js";
export type { ToolObservation } from "./contract/tools/tool-schemas.js";
export {
  defineTools,
  type ToolContext,
  type ToolHandlers,
  type Tools,
} from "./contract/tools/tools.js";
export type { ChatMessage, ChatModel } from "./environment/chat-endpoint.js";
export { defineEnvironment } from "./environment/define-environment.js";
export type {
  CallContext,
  Environment,
  EnvironmentDefinition,
  EnvironmentMetric,
  FactoryContext,
  LiveCapacity,
  MaybePromise,
  ResetRequest,
  ScoredAction,
  ScoredObservation,
  StepContext,
  Transition,
} from "./environment/environment.js";
export type { Policy, PolicyInput } from "./environment/policy.js";
export type { Resource, ResourceScope } from "./environment/resource.js";
export { ExponentialDiscounting } from "./environment/rubrics/discounting.js";
export { Gate } from "./environment/rubrics/gate.js";
export { LLMJudge } from "./environment/rubrics/llm-judge.js";
export { type NamedRubric, Rubric, type RubricState, type ScoreContext } from "./environment/rubrics/rubric.js";
export { RubricDict } from "./environment/rubrics/rubric-dict.js";
export { RubricList } from "./environment/rubrics/rubric-list.js";
export { Sequential } from "./environment/rubrics/sequential.js";
export { type TrajectoryOptions, TrajectoryRubric, type TrajectoryStep } from "./environment/rubrics/trajectory.js";
export { WeightedSum } from "./environment/rubrics/weighted-sum.js";
export { SessionLostError } from "./environment/session-lost-error.js";
export { parseJsonl } from "./environment/tasks/jsonl.js";
export { createTasks, type TaskList, type TaskLists } from "./environment/tasks/task-lists.js";
export type { Task, TaskKeys, TaskProvider } from "./environment/tasks/tasks.js";
export {
  ConfigError,
  ConnectionError,
  ContractMismatchError,
  EnvironmentError,
  ERRORS,
  type ErrorCode,
  type Fault,
  OpenEnvError,
  ProviderError,
  RemoteError,
  RubricError,
  ToolError,
  type ValidationIssue,
} from "./errors.js";
export type { TextSpan, TextTone, ViewPart } from "./protocol/web.js";
export { type Rng, type RngState, rng, type SeededRng } from "./util/rng.js";
