import type { ToolOutcome } from "../../protocol/tools.js";
import type { SessionOpener } from "../attachable-session.js";
import type { SessionCallOptions } from "../calls/call.js";
import { prepareCall, type ToolRequest } from "../calls/tool-call.js";
import type { Runtime } from "../runtime.js";
import type { Sessions } from "./sessions.js";

/** Who calls a tool without a session, and how. */
interface LoneCall extends SessionCallOptions {
  opener?: SessionOpener | undefined;
}

/**
 * Calls a tool in an environment for this call only; an invalid call creates none.
 * @throws SessionRejectedError (CAPACITY_REACHED, FACTORY_ERROR).
 */
export async function callToolAlone(
  { sessions, runtime: { tools } }: { sessions: Sessions; runtime: Pick<Runtime, "tools"> },
  request: ToolRequest,
  { opener, ...options }: LoneCall,
): Promise<ToolOutcome> {
  const prepared = prepareCall(tools, request);
  if (!("tool" in prepared)) return prepared;
  const session = await sessions.openEphemeral(opener);
  try {
    return await session.call(prepared, options);
  } finally {
    sessions.end(session, "its call was answered");
  }
}
