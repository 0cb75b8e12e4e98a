import type { CallToolResult, Server } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../protocol/messages.js";
import { createToolServer, toCallToolResult, toMcpTool } from "../../protocol/tool-server.js";
import type { ToolOutcome } from "../../protocol/tools.js";
import { prepareCall } from "../../session/calls/tool-call.js";
import { callAlone, callInTurn } from "../../session/calls/tool-session.js";
import { tellUnsendable, writeReply } from "../../session/messages/reply.js";
import type { Sessions } from "../../session/registry/sessions.js";
import type { Runtime } from "../../session/runtime.js";
import type { Session } from "../../session/session.js";

/** Where tools are called: in a session, or each in an environment of its own. */
export type CallPlace = { session: Session } | { sessions: Sessions };

/** The environment's tools as a server of the MCP SDK. */
export function renderServer(runtime: Runtime, place: CallPlace): Server {
  const { name, version, description } = runtime.definition.contract;
  return createToolServer({
    name,
    version,
    instructions: description || undefined,
    list: async () => (runtime.tools?.entries ?? []).map(toMcpTool),
    call: (tool, given, signal) => callTool(runtime, { name: tool, given, signal }, place),
  });
}

interface Asked {
  name: string;
  given: JsonObject;
  signal: AbortSignal;
}

async function callTool(runtime: Runtime, asked: Asked, place: CallPlace): Promise<CallToolResult> {
  const prepared = prepareCall(runtime.tools, asked);
  if (!("tool" in prepared)) return toCallToolResult(prepared);
  const { signal } = asked;
  const whenGone = (giveUp: () => void): void => signal.addEventListener("abort", giveUp, { once: true });
  const outcome =
    "session" in place
      ? await callInTurn(place.session, prepared, whenGone)
      : await callAlone(place.sessions, prepared, whenGone);
  return toCallToolResult(sendable(outcome, runtime.maxAnswerBytes));
}

/** What cannot be written, or is too large, is a failure of the tool, as at the other doors. */
function sendable(outcome: ToolOutcome, maxBytes: number): ToolOutcome {
  try {
    writeReply(outcome, maxBytes);
    return outcome;
  } catch (error) {
    return { result: null, error: { error_type: "execution_error", message: tellUnsendable(error) } };
  }
}
