/** Who caused an error. Mask what failed through `infrastructure` or `environment`; `client` is the request itself. */
export const FAULTS = ["infrastructure", "environment", "client"] as const;
export type Fault = (typeof FAULTS)[number];

/**
 * The usual cause of each error; a single error may name another one. The texts are in `error-table.ts`, which a client
 * does not load.
 */
export const FAULT_OF = {
  INVALID_JSON: "client",
  UNKNOWN_TYPE: "client",
  VALIDATION_ERROR: "client",
  EXECUTION_ERROR: "environment",
  NO_EPISODE: "client",
  EPISODE_DONE: "client",
  TIMEOUT: "environment",
  ISOLATE_LOST: "environment",
  CAPACITY_REACHED: "infrastructure",
  FACTORY_ERROR: "environment",
  SESSION_ERROR: "infrastructure",
  SESSION_IN_USE: "client",
  SEQUENCE_CONFLICT: "client",
  SEQUENCE_GAP: "client",
  SEQUENCE_OVERFLOW: "client",
  ANSWER_EXPIRED: "client",
  STEP_CRASHED: "environment",
  SESSION_ELSEWHERE: "infrastructure",
  RESET_ELSEWHERE: "infrastructure",
  JOURNAL_UNAVAILABLE: "infrastructure",
  PLUGIN_FAILED: "infrastructure",
  EPOCH_LOST: "infrastructure",
  NOT_RESTORABLE: "client",
  EVENT_NOT_KEPT: "client",
  SNAPSHOT_FAILED: "environment",
  SNAPSHOT_MISMATCH: "infrastructure",
  RESTORE_FAILED: "environment",
  TASKS_NOT_SUPPORTED: "client",
  UNAUTHORIZED: "client",
  FORBIDDEN: "client",
  REQUEST_FAILED: "infrastructure",
  CONNECTION_FAILED: "infrastructure",
  SESSION_LOST: "infrastructure",
  CLIENT_TIMEOUT: "infrastructure",
  ABORTED: "client",
  CLIENT_CLOSED: "client",
  PROTOCOL_ERROR: "infrastructure",
  CONTRACT_MISMATCH: "client",
  ENV_FAILED: "environment",
  TOOL_FAILED: "environment",
  INVALID_TOOL: "environment",
  RUBRIC_FAILED: "environment",
  POLICY_FAILED: "client",
  PROVIDER_UNAVAILABLE: "infrastructure",
  SOURCE_NOT_FOUND: "client",
  SPACE_NOT_RUNNING: "infrastructure",
  START_FAILED: "environment",
  START_TIMEOUT: "infrastructure",
  RELEASE_FAILED: "infrastructure",
  BUILD_FAILED: "environment",
  HUB_FAILED: "infrastructure",
  INVALID_CONFIG: "client",
} as const satisfies Record<string, Fault>;

export type ErrorCode = keyof typeof FAULT_OF;
