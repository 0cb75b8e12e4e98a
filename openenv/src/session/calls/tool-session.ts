import type { ToolOutcome } from "../../protocol/tools.js";
import type { Sessions } from "../registry/sessions.js";
import type { Session } from "../session.js";
import { SessionKilledError } from "../session-killed.js";
import { type PreparedCall, ToolTask } from "./tool-call.js";

/** Registers what is to be done when nobody waits for the answer any more. */
export type WhenGone = (giveUp: () => void) => void;

/** Calls a tool of the session, outside its steps, when what came before is done. Never rejects. */
export async function callInTurn(session: Session, prepared: PreparedCall, whenGone?: WhenGone): Promise<ToolOutcome> {
  const task = new ToolTask(session, prepared);
  try {
    const outcome = session.run(task);
    whenGone?.(() => task.abort(new Error("the client has left")));
    return await outcome;
  } catch (error) {
    // The call itself fails with an outcome; this is the end of the session.
    const timedOut = error instanceof SessionKilledError && error.code === "TIMEOUT";
    const message = error instanceof Error ? error.message : String(error);
    return { result: null, error: { error_type: timedOut ? "timeout" : "transport_error", message } };
  }
}

/** Calls a tool in an environment of this call alone. @throws Refusal when there is none to be had. */
export async function callAlone(sessions: Sessions, prepared: PreparedCall, whenGone?: WhenGone): Promise<ToolOutcome> {
  const session = await sessions.openThrowaway();
  try {
    return await callInTurn(session, prepared, whenGone);
  } finally {
    sessions.end(session, "its call was answered");
  }
}
