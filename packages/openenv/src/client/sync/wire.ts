import type { MessagePort } from "node:worker_threads";
import {
  ConnectionError,
  ContractMismatchError,
  type ErrorCode,
  RemoteError,
  type ToolErrorType,
} from "../../errors.js";
import type { SchemaBody } from "../../protocol/published.js";
import { ToolCallError } from "../tools/mcp-result.js";

/** The data that the thread starts with. */
export interface WorkerSetup {
  port: MessagePort;
  /** Set to 1 when an answer has arrived at the port. */
  flag: Int32Array;
  url: string;
  options: Record<string, unknown>;
  /** True when the calling thread has a contract and checks values itself. */
  typed: boolean;
}

export interface SyncCall {
  method: string;
  args: unknown[];
}

/** What the server publishes, for the comparison of contracts; undefined for a route that it does not have. */
export interface ServerAnswer {
  name: string | undefined;
  schema: SchemaBody | undefined;
}

export type SyncAnswer = { value: unknown } | { error: PackedError };

type Reward = ToolCallError["reward"];

/** An error in a message between threads: structured clone would keep only its message. */
type PackedError =
  | { kind: "remote"; wireCode: string; message: string; details: Record<string, unknown> }
  | { kind: "connection"; code: ErrorCode; message: string; cause: unknown }
  | { kind: "tool"; toolName: string; errorType: ToolErrorType; message: string; reward: Reward; done: boolean }
  | { kind: "other"; error: unknown };

export function packError(error: unknown): PackedError {
  if (error instanceof RemoteError) {
    return { kind: "remote", wireCode: error.wireCode, message: error.message, details: error.details };
  }
  if (error instanceof ConnectionError && !(error instanceof ContractMismatchError)) {
    const cause = error.cause instanceof Error ? new Error(error.cause.message) : undefined;
    return { kind: "connection", code: error.code, message: error.message, cause };
  }
  if (error instanceof ToolCallError) {
    const { toolName, errorType, message, reward, done } = error;
    return { kind: "tool", toolName, errorType, message, reward, done };
  }
  return { kind: "other", error: error instanceof Error ? error : new Error(String(error)) };
}

export function unpackError(packed: PackedError): unknown {
  if (packed.kind === "remote") return new RemoteError(packed.wireCode, packed.message, packed.details);
  if (packed.kind === "connection") return new ConnectionError(packed.code, packed.message, { cause: packed.cause });
  if (packed.kind === "tool") {
    const { toolName, errorType: error_type, message, reward, done } = packed;
    return new ToolCallError(toolName, { error_type, message }, { reward, done, metadata: {} });
  }
  return packed.error;
}
