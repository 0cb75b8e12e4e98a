import "../util/require-zod.js";

export { readJsonl } from "../environment/tasks/read-jsonl.js";
export type { ServerCapacityStatus, SessionInfo } from "../protocol/http.js";
export { serve } from "../serve.js";
export type { ConcurrencyConfig, RunningServer, ServeOptions } from "./types.js";
