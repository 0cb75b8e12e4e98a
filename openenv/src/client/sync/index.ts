export {
  ConfigError,
  ConnectionError,
  ContractMismatchError,
  type ErrorCode,
  OpenEnvError,
  ProviderError,
  RemoteError,
  type ValidationIssue,
} from "../../errors.js";
export type { StartedSyncClient, SyncFromOptions } from "../../from-docker-image-sync.js";
export { fromDockerImageSync } from "../../from-docker-image-sync.js";
export { fromEnvSync, fromHubSync, type SyncHubOptions } from "../../from-hub-sync.js";
export type { ResetOptions } from "../../protocol/codec.js";
export type { MetadataBody } from "../../protocol/http.js";
export type { ClientContract, ClientSchema, GenericContract } from "../contract.js";
export type { EpisodeState, FailedResult, StepResult } from "../result.js";
export type { TaskSplitInfo } from "../tasks.js";
export { connectSync } from "./connect-sync.js";
export type { SyncCallOptions, SyncConnectOptions, SyncEnvClient, SyncStepOptions, SyncTaskClient } from "./types.js";
