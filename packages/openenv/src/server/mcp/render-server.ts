import type { Server } from "@modelcontextprotocol/server";
import { createToolServer, toCallToolResult, toMcpTool } from "../../protocol/tool-server.js";
import type { ToolOutcome } from "../../protocol/tools.js";
import { serializationFailure, serializeReply } from "../../session/messages/message-codec.js";
import type { Sessions } from "../../session/registry/sessions.js";
import type { Runtime } from "../../session/runtime.js";
import type { Session } from "../../session/session.js";

/** The environment's tools as a server of the MCP SDK. They are called in a session, or each in its own environment. */
export function renderServer(runtime: Runtime, place: Session | Sessions): Server {
  const { name, version, description } = runtime.definition.contract;
  return createToolServer({
    name,
    version,
    instructions: description || undefined,
    list: async () => (runtime.tools?.entries ?? []).map(toMcpTool),
    async call(tool, given, signal) {
      const whenGone = (cancel: () => void): void => signal.addEventListener("abort", cancel, { once: true });
      const outcome = await place.callTool({ name: tool, given }, { onDisconnect: whenGone });
      return toCallToolResult(sendable(outcome, runtime.maxAnswerBytes));
    },
  });
}

/** What cannot be written, or is too large, is a failure of the tool, as in the other transports. */
function sendable(outcome: ToolOutcome, maxBytes: number): ToolOutcome {
  try {
    serializeReply(outcome, maxBytes);
    return outcome;
  } catch (error) {
    return { result: null, error: { error_type: "execution_error", message: serializationFailure(error) } };
  }
}
