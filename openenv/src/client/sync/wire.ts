import type { MessagePort } from "node:worker_threads";
import {
  ConfigError,
  ConnectionError,
  ContractMismatchError,
  type ErrorCode,
  ProviderError,
  RemoteError,
  type ToolErrorType,
} from "../../errors.js";
import type { SchemaBody } from "../../protocol/http.js";
import { ToolCallError } from "../mcp-result.js";

/** What every thread is started with; `flag` is 1 while an answer is there. */
export interface ThreadData {
  port: MessagePort;
  flag: Int32Array;
  setup: unknown;
}

/** What the thread of a client is started with. */
export interface WorkerSetup {
  url: string;
  options: Record<string, unknown>;
  /** The calling thread has a contract and does the checking itself. */
  typed: boolean;
}

export interface Call {
  method: string;
  args: unknown[];
}

/** What the thread tells of the server, for the comparison of contracts; undefined for a route that it does not have. */
export interface ServerAnswer {
  name: string | undefined;
  schema: SchemaBody | undefined;
}

export type Answer = { value: unknown } | { error: PackedError };

type Reward = ToolCallError["reward"];

/** An error on its way between threads: structured clone would leave nothing of it but its message. */
type PackedError =
  | { kind: "remote"; wireCode: string; message: string; details: Record<string, unknown> }
  | { kind: "connection"; code: ErrorCode; message: string; cause: unknown }
  | { kind: "tool"; toolName: string; errorType: ToolErrorType; message: string; reward: Reward; done: boolean }
  | { kind: "provider"; code: ErrorCode; message: string; logs: string }
  | { kind: "config"; message: string }
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
  if (error instanceof ProviderError) {
    return { kind: "provider", code: error.code, message: error.message, logs: error.logs };
  }
  if (error instanceof ConfigError) return { kind: "config", message: error.message };
  return { kind: "other", error: error instanceof Error ? error : new Error(String(error)) };
}

export function unpackError(packed: PackedError): unknown {
  if (packed.kind === "remote") return new RemoteError(packed.wireCode, packed.message, packed.details);
  if (packed.kind === "connection") return new ConnectionError(packed.code, packed.message, { cause: packed.cause });
  if (packed.kind === "tool") {
    const { toolName, errorType: error_type, message, reward, done } = packed;
    return new ToolCallError(toolName, { error_type, message }, { reward, done, metadata: {} });
  }
  if (packed.kind === "provider") return new ProviderError(packed.code, packed.message, { logs: packed.logs });
  if (packed.kind === "config") return new ConfigError(packed.message);
  return packed.error;
}
