/** What an isolated session can be asked. `ping` is for the host itself. */
export type HostedMethod = "create" | "reset" | "step" | "state" | "close" | "ping";

/** What `step` is told beside the action, but its signal. */
export interface HostedContext {
  metadata: Readonly<Record<string, unknown>>;
  timeoutMs: number | undefined;
  requestId: string | undefined;
}

/** To the host. Every request is answered once; `abort` names the request whose signal aborts. */
export type ToHost =
  | { type: "request"; id: number; session: number; method: HostedMethod; input?: unknown; context?: HostedContext }
  | { type: "abort"; id: number; reason: string }
  | { type: "end" };

/** From the host: first `ready` or `unusable`, then answers. */
export type FromHost =
  | { type: "ready"; contract: string }
  | { type: "unusable"; error: PackedError }
  | { type: "answer"; id: number; value: unknown }
  | { type: "failure"; id: number; error: PackedError };

/** An error without its class, which does not cross. */
export type PackedError =
  | { name: string; message: string; stack: string; code: unknown; cause: PackedError | undefined }
  | { thrown: string };

/** More causes than these of one error stay behind. */
const MAX_CAUSES = 4;

export function packError(error: unknown, causes = MAX_CAUSES): PackedError {
  if (!(error instanceof Error)) return { thrown: String(error) };
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return {
    name: error.name,
    message: error.message,
    stack: error.stack ?? "",
    code: typeof code === "string" ? code : undefined,
    cause: cause instanceof Error && causes > 0 ? packError(cause, causes - 1) : undefined,
  };
}

/** What was thrown in the host: an Error with the same name, message, stack, code and cause, or the text of what was none. */
export function unpackError(packed: PackedError): unknown {
  if ("thrown" in packed) return packed.thrown;
  const { name, message, stack, code, cause } = packed;
  const error = Object.assign(new Error(message, cause && { cause: unpackError(cause) }), { name, stack });
  return code === undefined ? error : Object.assign(error, { code });
}
