export { PAGE_LEFT } from "./close-codes.js";
export { Heartbeat } from "./flow/heartbeat.js";
export { Inflow, type InflowParts } from "./flow/inflow.js";
export type { ConnectionLimits } from "./flow/outflow.js";
export { UnfinishedFrames } from "./flow/unfinished-frames.js";
export { Backlog, HARD_STOP, type Holder } from "./limits/backlog.js";
export { readArrival, startLoopClock } from "./limits/loop-clock.js";
export { idleSeconds } from "./runtimes/fetch.js";
export { rejectUpgrade } from "./runtimes/reject-upgrade.js";
export {
  clientAddress,
  DESCRIPTORS_AT_START,
  type HttpRequest,
  type HttpResponse,
  LISTEN_BACKLOG,
  type Listener,
  loadRuntime,
  MessageParts,
  onNode,
  type PeerSocket,
  type RequestOrigin,
  type ServerParts,
  type ServerRuntime,
  type SocketPeer,
  type Upgrade,
  type UpgradeRequest,
} from "./runtimes/runtime.js";
