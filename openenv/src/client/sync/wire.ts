import { ConnectionError, ContractMismatchError, type ErrorCode, RemoteError } from "../../errors.js";

/** What the thread is started with. */
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

export type Answer = { value: unknown } | { error: PackedError };

/** An error on its way between threads: structured clone would leave nothing of it but its message. */
type PackedError =
  | { kind: "remote"; wireCode: string; message: string; details: Record<string, unknown> }
  | { kind: "connection"; code: ErrorCode; message: string; cause: unknown }
  | { kind: "other"; error: unknown };

export function packError(error: unknown): PackedError {
  if (error instanceof RemoteError) {
    return { kind: "remote", wireCode: error.wireCode, message: error.message, details: error.details };
  }
  if (error instanceof ConnectionError && !(error instanceof ContractMismatchError)) {
    const cause = error.cause instanceof Error ? new Error(error.cause.message) : undefined;
    return { kind: "connection", code: error.code, message: error.message, cause };
  }
  return { kind: "other", error: error instanceof Error ? error : new Error(String(error)) };
}

export function unpackError(packed: PackedError): unknown {
  if (packed.kind === "remote") return new RemoteError(packed.wireCode, packed.message, packed.details);
  if (packed.kind === "connection") return new ConnectionError(packed.code, packed.message, { cause: packed.cause });
  return packed.error;
}
