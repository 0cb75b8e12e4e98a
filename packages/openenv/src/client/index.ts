export { connect } from "../connect.js";
export { connectTools } from "../connect-tools.js";
export {
  ConfigError,
  ConnectionError,
  ContractMismatchError,
  type ErrorCode,
  OpenEnvError,
  RemoteError,
  type ValidationIssue,
} from "../errors.js";
export type { ResetOptions } from "../protocol/codec/codec.js";
export type { MetadataBody } from "../protocol/published.js";
export type { ClientContract, ClientSchema, GenericContract } from "./contract/contract.js";
export { contractFromSchemas, type SchemaContract, type SchemaTypes } from "./contract/schema-contract.js";
export type { EnvClient } from "./env-client.js";
export type {
  Autoreset,
  CallOptions,
  ConnectOptions,
  StepOptions,
  VectorOptions,
  VectorStartOptions,
} from "./options.js";
export type { EpisodeState, FailedResult, StepResult, VectorPosition, VectorResult } from "./result.js";
export type { TaskClient, TaskSplitInfo } from "./tasks.js";
export type { ConnectToolsOptions, McpToolClient } from "./tools/mcp-client.js";
export { ToolCallError, type ToolCallResult, type ToolInfo } from "./tools/mcp-result.js";
export type { ToolCallInput, ToolMethods, ToolStepResult, VectorToolResult } from "./tools/tool-methods.js";
export { connectVector, type VectorProvider } from "./vector/connect-vector.js";
export type { VectorEnv } from "./vector/vector-env.js";
