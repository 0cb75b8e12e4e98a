export {
  ConnectionError,
  ContractMismatchError,
  type ErrorCode,
  OpenEnvError,
  RemoteError,
  type ValidationIssue,
} from "../../errors.js";
export type { ResetOptions } from "../../protocol/codec/codec.js";
export type { MetadataBody } from "../../protocol/published.js";
export type { ClientContract, ClientSchema, GenericContract } from "../contract/contract.js";
export type { EpisodeState, FailedResult, StepResult } from "../result.js";
export type { TaskSplitInfo } from "../tasks.js";
export { connectSync } from "./connect-sync.js";
export type { SyncCallOptions, SyncConnectOptions, SyncEnvClient, SyncStepOptions, SyncTaskClient } from "./types.js";
