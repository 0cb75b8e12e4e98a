export type { ServerCapacityStatus, SessionInfo } from "../protocol/http.js";
export { serve } from "../serve.js";
export type { ConcurrencyConfig, LogLevel, Mode, RunningServer, ServeOptions } from "./types.js";
