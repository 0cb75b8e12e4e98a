import type { Server } from "@modelcontextprotocol/server";
import { createToolServer, toCallToolResult, toMcpTool } from "../../protocol/tool-server.js";
import type { AgentOutcome } from "../../protocol/tools.js";
import { callAgentTool, listAgentTools } from "../../session/calls/agent-call.js";
import { failedCall, stepCrashed } from "../../session/failure.js";
import { serializationFailure, serializeReply } from "../../session/messages/message-codec.js";
import type { Sessions } from "../../session/registry/sessions.js";
import type { Runtime } from "../../session/runtime.js";
import { Session } from "../../session/session.js";

/** Creates an MCP SDK server with the environment's tools. Calls run in a session, or each in a new environment. */
export function renderServer(runtime: Runtime, place: Session | Sessions): Server {
  const { name, version, description } = runtime.definition.contract;
  const session = place instanceof Session ? place : undefined;
  return createToolServer({
    name,
    version,
    instructions: description || undefined,
    list: async () => (listAgentTools(runtime, session) ?? []).map(toMcpTool),
    async call(tool, given, signal) {
      const whenGone = (cancel: () => void): void => signal.addEventListener("abort", cancel, { once: true });
      const request = { name: tool, given };
      const options = { onDisconnect: whenGone };
      const isCrashed = place instanceof Session && (await place.events.recorder?.enterTool?.(request));
      const outcome = await (isCrashed
        ? failedCall("transport_error", `STEP_CRASHED: ${stepCrashed().data.message}`)
        : place instanceof Session
          ? callAgentTool(place, request, options)
          : place.callTool(request, options));
      return toCallToolResult(sendable(outcome, runtime.maxAnswerBytes));
    },
  });
}

/** A result that cannot be encoded or is too large is a failure of the tool, as in the other transports. */
function sendable(outcome: AgentOutcome, maxBytes: number): AgentOutcome {
  try {
    serializeReply(outcome, maxBytes);
    return outcome;
  } catch (error) {
    return { result: null, error: { error_type: "execution_error", message: serializationFailure(error) } };
  }
}
