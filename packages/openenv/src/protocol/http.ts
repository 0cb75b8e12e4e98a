import type { JsonObject } from "./messages.js";
import type { PublishedTool } from "./tools.js";

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

/** `GET /metadata`. `contract` is ours; the other members are the reference's, null when unset. */
export interface MetadataBody {
  name: string;
  description: string;
  readme_content: string | null;
  version: string | null;
  author: string | null;
  documentation_url: string | null;
  contract?: ContractFingerprint;
}

/** Identifies a contract: its version and the SHA-256 (hex) of its canonical schema. */
export interface ContractFingerprint {
  version: string;
  hash: string;
}

/** `GET /schema`: four JSON Schemas (2020-12). `tools` is ours, and there where the environment has some. */
export interface SchemaBody {
  action: JsonObject;
  observation: JsonObject;
  state: JsonObject;
  reset_observation: JsonObject;
  tools?: PublishedTool[];
}

export interface HealthBody {
  status: "healthy" | "unhealthy" | "degraded";
}

/** `GET /livez`. */
export interface LivenessBody {
  status: "alive";
}

/** Why a server opens no sessions: it drains, an operator has paused it, or every session that it can hold is in use. */
export type NotReadyReason = "draining" | "paused" | "full";

/** `GET /readyz`: 200 without a reason, else 503. */
export interface ReadinessBody {
  status: "ready" | "not ready";
  reasons: NotReadyReason[];
}

/** One session as operators see it. Times are Unix seconds. */
export interface SessionInfo {
  session_id: string;
  created_at: number;
  last_activity_at: number;
  step_count: number;
  environment_type: string;
  episode_id: string | null;
  attached: boolean;
}

export interface ServerCapacityStatus {
  active_sessions: number;
  max_sessions: number;
  available_slots: number;
  is_at_capacity: boolean;
}

export interface SessionsBody {
  capacity: ServerCapacityStatus;
  sessions: SessionInfo[];
}

/** Answer to `POST /sessions/pause` and `POST /sessions/resume`. */
export interface PausedBody {
  paused: boolean;
}
