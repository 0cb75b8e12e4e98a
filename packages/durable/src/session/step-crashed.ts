import type { ServerMessage } from "#core/protocol/messages.js";
import type { ToolOutcome } from "#core/protocol/tools.js";
import type { CallKind } from "#core/session/failure.js";
import { errorMessage } from "#core/session/messages/message-codec.js";

const MESSAGE = "This request has twice ended the process that executed it, and is not executed again.";

/** The answer to a request that is not executed a third time. */
export function stepCrashed(kind: CallKind): ServerMessage | ToolOutcome {
  const code = "STEP_CRASHED";
  if (kind !== "tool") return errorMessage(code, MESSAGE);
  return { result: null, error: { error_type: "transport_error", message: `${code}: ${MESSAGE}`, code } };
}
