export type { Principal } from "../../session/attachable-session.js";
export type { SessionEvent } from "../../session/calls/session-event.js";
export type { MetricRow } from "../../session/statistics/metrics.js";
export { choice, integer, text } from "../config/setting.js";
export {
  type AuthorizeRequest,
  definePlugin,
  type EventNotes,
  type Opener,
  type PlayedSession,
  type PluginAccess,
  type PluginAnswer,
  type PluginCentral,
  type PluginHooks,
  type PluginMetrics,
  type PluginRefusal,
  type PluginRequest,
  type PluginRoute,
  type PluginSetting,
  type PluginSettings,
  type RouteCall,
  type ServerHandle,
  type ServerPlugin,
  type SessionHandle,
  type SettingValues,
} from "./plugin.js";
