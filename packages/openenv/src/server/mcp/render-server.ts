import type { Server } from "@modelcontextprotocol/server";
import { createToolServer, toCallToolResult, toMcpTool } from "../../protocol/tool-server.js";
import { callAgentTool, listAgentTools } from "../../session/agents/agent-call.js";
import type { SessionOpener } from "../../session/attachable-session.js";
import { callToolAlone } from "../../session/registry/call-alone.js";
import type { Sessions } from "../../session/registry/sessions.js";
import type { Runtime } from "../../session/runtime.js";
import { Session } from "../../session/session.js";
import { sendable } from "./tool-call.js";

/** Where the calls of a client without a session get an environment each. */
interface LonePlace {
  sessions: Sessions;
  opener: SessionOpener;
}

/**
 * Creates an MCP SDK server with the environment's tools. Calls run in a session, or each in a new environment. With
 * `reportsProgress` a call that asks for progress is answered with a stream.
 */
export function renderServer(runtime: Runtime, place: Session | LonePlace, reportsProgress = false): Server {
  const { name, version, description } = runtime.definition.contract;
  const session = place instanceof Session ? place : undefined;
  return createToolServer({
    name,
    version,
    instructions: description || undefined,
    reportsProgress,
    list: async () => (listAgentTools(runtime, session) ?? []).map(toMcpTool),
    async call(tool, given, { signal, traceparent }) {
      // A client that cancels gives a reason, which is a string.
      const when = (isCancelled: boolean) => (act: () => void) =>
        signal.addEventListener("abort", () => (typeof signal.reason === "string") === isCancelled && act());
      const request = { name: tool, given };
      const trace = typeof traceparent === "string" ? { traceparent } : {};
      const options = { onDisconnect: when(false), onCancel: when(true), ...trace };
      const outcome = await (place instanceof Session
        ? callAgentTool(place, request, options)
        : callToolAlone({ sessions: place.sessions, runtime }, request, {
            ...options,
            opener: { ...place.opener, ...trace },
          }));
      return toCallToolResult(sendable(outcome, runtime.maxAnswerBytes));
    },
  });
}
