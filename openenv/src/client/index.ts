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
export type { ResetOptions } from "../protocol/codec.js";
export type { MetadataBody } from "../protocol/http.js";
export type { ClientContract, ClientSchema, GenericContract } from "./contract.js";
export type { EnvClient } from "./env-client.js";
export { type ConnectManyOptions, connectMany } from "./many/connect-many.js";
export type { ManyClient } from "./many/many-client.js";
export type { ConnectToolsOptions, McpToolClient } from "./mcp-client.js";
export { ToolCallError, type ToolCallResult, type ToolInfo } from "./mcp-result.js";
export type { CallOptions, ConnectOptions, StepOptions } from "./options.js";
export {
  connectPool,
  type PoolOptions,
  type PoolProvider,
  type PoolStarted,
  type StartedPoolOptions,
} from "./pool/connect-pool.js";
export type { Autoreset, InPool, PoolClient, PoolReset, PoolResult, PoolToolResult } from "./pool/pool-client.js";
export type { EpisodeState, FailedResult, StepResult } from "./result.js";
export { contractFromSchemas, type SchemaContract, type SchemaTypes } from "./schema-contract.js";
export type { TaskClient, TaskSplitInfo } from "./tasks.js";
export type { ToolCallInput, ToolMethods, ToolStepResult } from "./tool-methods.js";
