import { readBody } from "../http/body.js";
import type { RequestContext } from "../http/router.js";
import { onNode } from "../runtimes/runtime.js";

export { askTasks } from "../../session/calls/ask-tasks.js";
export { callStepTool, listStepTools, renderContent } from "../../session/calls/step-tools.js";
export { serializeReply } from "../../session/messages/message-codec.js";
export { digestRequest } from "../../session/resume/request-digest.js";
export { canonicalJson } from "../../util/canonical-json.js";
export { packageVersion } from "../../util/package-version.js";
export { sendFailure, sendJson } from "../http/respond.js";
export { withBody, withCheckedBody } from "../http/router.js";
export { forwardToRoom } from "../routes/control.js";

/** True if another worker of the cluster has the session and answers. */
export async function forwardToOwner(ctx: RequestContext, session: string): Promise<boolean> {
  const { context, forwarded } = ctx;
  const owner = forwarded ? undefined : context.cluster?.ownerOf(session);
  if (owner === undefined) return false;
  const body = await readBody(ctx);
  context.cluster?.forward(owner, { ...onNode(ctx), body: body.toString(), named: true });
  return true;
}
