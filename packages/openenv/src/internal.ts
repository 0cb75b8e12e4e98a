/**
 * What the other packages of this repository use, and nobody else may: nothing here is promised to stay. It is small,
 * because each command loads it; the functions named `load…` bring what is not.
 */
export { compileActionCheck } from "./client/contract/generic.js";
export { parseAddress } from "./client/transport/address.js";
export { describeClose } from "./client/transport/close-codes.js";
export { createExitExplainer } from "./client/transport/exit-reason.js";
export { isHealthy } from "./client/transport/health.js";
export { openSocket, type Socket, type SocketHandlers } from "./client/transport/socket.js";
export type { SupervisedServer } from "./cluster/supervise.js";
export { sampleValue } from "./contract/json-schema/sample-value.js";
export { type ChatEndpointOptions, createChatEndpoint } from "./environment/chat-endpoint.js";
export {
  ConfigError,
  ConnectionError,
  EnvironmentError,
  type ErrorCode,
  type Fault,
  OpenEnvError,
  ProviderError,
  RemoteError,
  type ValidationIssue,
} from "./errors.js";
export { toActionTools } from "./protocol/action-tools.js";
export { parseJson } from "./protocol/codec/json.js";
export type { RecordedFailure } from "./protocol/episode.js";
export {
  type EpisodeMessage,
  groupOf,
  messagesOf,
  outcomeOf,
  toColumns,
} from "./protocol/episode-line.js";
export { NO_SESSION, SESSION_HEADER, SESSION_TOKEN_HEADER } from "./protocol/http.js";
export type { ErrorData, JsonObject } from "./protocol/messages.js";
export type { Direction } from "./protocol/schema/broken-fields.js";
export { canonicalSchema } from "./protocol/schema/json-schema.js";
export {
  asList,
  asNode,
  covers,
  dereference,
  type Node,
  type Variant,
  variantsOf,
} from "./protocol/schema/schema-variants.js";
export { countSilentChecks, IMAGE_STOP_VARIABLES, stopSeconds } from "./protocol/server-times.js";
export {
  DEFAULT_SESSION_QUERY,
  MAX_LISTED_SESSIONS,
  renderSessionQuery,
  type SessionColumn,
  type SessionQuery,
  sessionState,
} from "./protocol/session-query.js";
export { type ContentBlock, isToolAction, type ToolSummary } from "./protocol/tools.js";
export type { ReceivedMessage } from "./protocol/transport.js";
export {
  MAX_REPORTED_ERRORS,
  type ServerView,
  type ServerViewError,
  type ServerViewSession,
  type TextSpan,
  type View,
  type ViewPart,
  type WebInfo,
} from "./protocol/web.js";
export type { ServerAbout } from "./server/cluster.js";
export { renderDefault, type Setting } from "./server/config/setting.js";
export type { ServerContext } from "./server/context.js";
export type { Gateway, GatewayParts, GatewayRoute } from "./server/gateway/gateway.js";
export type { RequestContext } from "./server/http/router.js";
export { startInterruptibly } from "./server/lifecycle/signals.js";
export type { METRICS } from "./server/metrics/metrics.js";
export type { SessionEvent } from "./session/calls/session-event.js";
export type { StoredSession } from "./session/resume/read-journal.js";
export type { Session } from "./session/session.js";
export { watchParent } from "./session/watchdog.js";
export type { CheckServerOptions } from "./testing/check-server.js";
export {
  DEFAULT_SEED,
  differenceOf,
  type EpisodePlayer,
  play,
  without,
  withSession,
} from "./testing/checks/behaviour.js";
export { type CheckedEpisode, playEpisode } from "./testing/checks/episode.js";
export { fetchJson, type JsonResponse } from "./testing/checks/fetch-json.js";
export { listTools } from "./testing/checks/tools.js";
export { type CheckDefinition, CheckSkip, demand, NotApplicable, runChecks, show } from "./testing/report.js";
export { sampleActions } from "./testing/sample-actions.js";
export { settled } from "./util/async/settled.js";
export { MAX_TIMER_MS } from "./util/async/timer.js";
export { descriptorLimit } from "./util/descriptor-limit.js";
export { findDifference } from "./util/first-difference.js";
export { findFreePort, isTaken } from "./util/free-port.js";
export { isObject } from "./util/is-object.js";
export { PACKAGE_VERSION } from "./util/package-version.js";
export { rng } from "./util/rng.js";
export { clip } from "./util/text/clip.js";
export { escapeControls } from "./util/text/escape-controls.js";
export { httpUrl } from "./util/text/http-url.js";
export { imageName } from "./util/text/image-name.js";
export { findNearest } from "./util/text/nearest.js";
export { renderPython } from "./util/text/python-literal.js";
export { hasPassword, isSecretName } from "./util/text/secret-name.js";

/** The client of one server. */
export const loadClient = () => import("./client/connect-to.js");
/** One connection of a client, without a session. */
export const loadConnection = () => import("./client/transport/connection.js");
/** The client of an environment in this process. */
export const loadInProcess = () => import("./connect-in-process.js");
/** The events of a session on a server, and the sessions of a journal. */
export const loadSessionEvents = () => import("./client/session-events.js");
export const loadJournal = () => import("./session/resume/read-journal.js");
/** What watches over workers, and what a worker finds it with. */
export const loadSupervisor = () => import("./cluster/supervise.js");
export const loadWorker = () => import("./cluster/worker-cluster.js");
/** The settings of a server, and how they are read. */
export const loadSettings = () => import("./server/config/settings.js");
export const loadSettingsReader = () => import("./server/config/read-settings.js");
/** The environment among what a module exports, and what its contract says about itself. */
export const loadContract = () => import("./contract/contract.js");
export const loadPicker = () => import("./environment/pick-environment.js");
