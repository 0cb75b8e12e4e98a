export type { Principal } from "../../session/attachable-session.js";
export type { SessionEvent } from "../../session/calls/session-event.js";
export type { MetricRow } from "../../session/statistics/metrics.js";
export { choice, integer, text } from "../config/setting.js";
export type {
  AuthorizeRequest,
  definePlugin,
  EventNotes,
  Opener,
  PlayedSession,
  PluginAccess,
  PluginAnswer,
  PluginCentral,
  PluginHooks,
  PluginMetrics,
  PluginRefusal,
  PluginRequest,
  PluginRoute,
  PluginSetting,
  PluginSettings,
  RouteCall,
  ServerHandle,
  ServerPlugin,
  SessionHandle,
  SettingValues,
} from "./plugin.js";
