import { readBody } from "../http/body.js";
import type { RequestContext } from "../http/router.js";
import { onNode } from "../runtimes/runtime.js";

export { askTasks } from "../../session/calls/ask-tasks.js";
export {
  listStepTools,
  readStepReply,
  renderContent,
  type StepToolFailure,
  type StepToolResult,
  toStepAction,
} from "../../session/calls/step-tools.js";
export { stepCrashed } from "../../session/failure.js";
export { serializeReply } from "../../session/messages/message-codec.js";
export { SessionRejectedError } from "../../session/session-rejected-error.js";
export { canonicalJson } from "../../util/canonical-json.js";
export { packageVersion } from "../../util/package-version.js";
export { clip } from "../../util/text/clip.js";
export { sendDetail, sendFailure, sendJson } from "../http/respond.js";
export { withBody, withCheckedBody } from "../http/router.js";
export { callOnce, forwardToRoom } from "../routes/control.js";

/**
 * True if another worker of the cluster has the session and answers: the one that its id names or, with a journal, the one
 * that has its address, because another process may have continued it.
 */
export async function forwardToOwner(ctx: RequestContext, session: string, address: () => string): Promise<boolean> {
  const { context, forwarded } = ctx;
  const { cluster } = context;
  if (forwarded || cluster === undefined) return false;
  const hasJournal = context.sessions.journal !== undefined;
  if (!hasJournal && session.startsWith(cluster.idPrefix)) return false;
  const owner = hasJournal ? await cluster.ownerOfAddress(address()) : cluster.ownerOf(session);
  if (owner === undefined) return false;
  const body = await readBody(ctx);
  cluster.forward(owner, { ...onNode(ctx), body: body.toString(), named: !hasJournal });
  return true;
}
