import "../util/require-zod.js";

export type { ServerCapacityStatus, SessionInfo } from "../protocol/http.js";
export { serve } from "../serve.js";
export { readJsonl } from "./read-jsonl.js";
export type { ConcurrencyConfig, LogLevel, Mode, RunningServer, ServeOptions } from "./types.js";
