export type {
  EventsBody,
  HealthBody,
  LivenessBody,
  NotReadyReason,
  PausedBody,
  ReadinessBody,
  ServerCapacityStatus,
  SessionEndedBody,
  SessionInfo,
  SessionsBody,
  StepBody,
} from "./bodies.js";
export type { ForkBody, ForkRequest, MetadataBody, PublishedTool, SchemaBody } from "./published.js";

/** Header that names an HTTP session. `none` in an answer: no session was kept; in a request: none is wanted. */
export const SESSION_HEADER = "openenv-session";
/** Header by which a client names its session itself, like the name in `/session/<name>`. */
export const NAME_HEADER = "x-openenv-session-id";
/** Header of an answer with a warning for the people who wrote the client. */
export const WARNING_HEADER = "openenv-warning";
/** Header with the token of a resumable session. */
export const SESSION_TOKEN_HEADER = "openenv-session-token";
export const NO_SESSION = "none";

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
