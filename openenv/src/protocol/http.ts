export type {
  ContractFingerprint,
  HealthBody,
  LivenessBody,
  MetadataBody,
  NotReadyReason,
  PausedBody,
  PublishedTool,
  ReadinessBody,
  SchemaBody,
  ServerCapacityStatus,
  SessionEndedBody,
  SessionInfo,
  SessionsBody,
  StepBody,
} from "./bodies.js";

/** Header that names an HTTP session. A server answers `none` when no session was kept; asking with `none` wants none. */
export const SESSION_HEADER = "openenv-session";
export const NO_SESSION = "none";

/**
 * Cookie that names an HTTP session. A browser sends a cookie to every port of a host, so its name has the port that
 * the client asked for: `openenv_session_8000`, or `openenv_session` for a host without one.
 */
export function sessionCookie(host = ""): string {
  return cookieName("openenv_session", host);
}

/** Cookie by which a browser that was given a token is known as a client, named like {@link sessionCookie}. */
export function clientCookie(host = ""): string {
  return cookieName("openenv_client", host);
}

function cookieName(name: string, host: string): string {
  const port = /:(\d+)$/.exec(host)?.[1];
  return port === undefined ? name : `${name}_${port}`;
}
