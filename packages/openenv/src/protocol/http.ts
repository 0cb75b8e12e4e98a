import type { WireCode } from "./messages.js";

export type {
  EventsBody,
  HealthBody,
  LivenessBody,
  NotReadyReason,
  PausedBody,
  ReadinessBody,
  SessionEndedBody,
  SessionsBody,
  StepBody,
} from "./bodies.js";
export { NAME_HEADER, NO_SESSION, SESSION_HEADER, SESSION_TOKEN_HEADER, WARNING_HEADER } from "./headers.js";
export type {
  ForkBody,
  ForkRequest,
  MetadataBody,
  PublishedTool,
  SchemaBody,
  ServerCapacityStatus,
  SessionInfo,
} from "./published.js";

/**
 * Cookie that names an HTTP session. A browser sends a cookie to every port of a host, so its name contains the port of
 * the request: `openenv_session_8000`, or `openenv_session` without a port.
 */
export function sessionCookie(host = ""): string {
  return cookieName("openenv_session", host);
}

/** Cookie that authenticates a browser as a client after it has sent a token, named like {@link sessionCookie}. */
export function clientCookie(host = ""): string {
  return cookieName("openenv_client", host);
}

function cookieName(name: string, host: string): string {
  const port = /:(\d+)$/.exec(host)?.[1];
  return port === undefined ? name : `${name}_${port}`;
}

/** HTTP status of each error code of the wire. */
export const STATUS: Readonly<Record<WireCode, number>> = {
  INVALID_JSON: 422,
  UNKNOWN_TYPE: 422,
  VALIDATION_ERROR: 422,
  EXECUTION_ERROR: 500,
  TIMEOUT: 504,
  CANCELLED: 409,
  ISOLATE_LOST: 503,
  SESSION_LOST: 503,
  CAPACITY_REACHED: 503,
  FACTORY_ERROR: 500,
  SESSION_ERROR: 404,
  SESSION_IN_USE: 409,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  SEQUENCE_CONFLICT: 409,
  SEQUENCE_GAP: 409,
  SEQUENCE_OVERFLOW: 409,
  ANSWER_EXPIRED: 409,
  STEP_CRASHED: 500,
  SESSION_ELSEWHERE: 503,
  RESET_ELSEWHERE: 503,
  JOURNAL_UNAVAILABLE: 503,
  PLUGIN_FAILED: 503,
  NOT_RESTORABLE: 409,
  EVENT_NOT_KEPT: 409,
  SNAPSHOT_FAILED: 500,
  SNAPSHOT_MISMATCH: 409,
  RESTORE_FAILED: 500,
};
