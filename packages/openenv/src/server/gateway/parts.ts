export {
  listStepTools,
  readStepReply,
  renderContent,
  type StepToolFailure,
  type StepToolResult,
  toStepAction,
} from "../../session/agents/step-tools.js";
export { askTasks } from "../../session/calls/ask-tasks.js";
export { serializeReply } from "../../session/messages/message-codec.js";
export { SessionRejectedError } from "../../session/session-rejected-error.js";
export { canonicalJson } from "../../util/canonical-json.js";
export { PACKAGE_VERSION } from "../../util/package-version.js";
export { clip } from "../../util/text/clip.js";
export { headerTrace } from "../http/http-session.js";
export { passToRoom, passToWorker } from "../http/pass-on.js";
export { sendDetail, sendFailure, sendJson } from "../http/respond.js";
export { withBody, withCheckedBody } from "../http/router.js";
