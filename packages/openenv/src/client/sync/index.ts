export { connectSync } from "./connect-sync.js";
export type { SyncEnvClient, SyncTaskClient, SyncToolMethods } from "./types.js";
