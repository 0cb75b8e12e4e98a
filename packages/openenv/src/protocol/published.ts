/**
 * The bodies whose types clients declare, such as what a server publishes about its environment. They are written
 * without zod, which generated clients do not have; the compiler holds the schemas of `bodies.ts` to them.
 */
import type { JsonObject } from "./messages.js";

/** Identifies a contract: its version and the SHA-256 (hex) of its canonical schema. */
export interface ContractFingerprint {
  version: string;
  hash: string;
}

/** `GET /metadata`. `contract` and `server_version`, that of the package `openenv-ts`, are ours; the other members are the reference's, null when unset. */
export interface MetadataBody {
  name: string;
  description: string;
  readme_content: string | null;
  version: string | null;
  author: string | null;
  documentation_url: string | null;
  contract?: ContractFingerprint;
  server_version?: string;
}

/** A tool in `GET /schema`; `output_schema` describes its result, where it declares one. */
export interface PublishedTool {
  name: string;
  description: string;
  input_schema: JsonObject;
  output_schema?: JsonObject;
}

/**
 * `GET /schema`: four JSON Schemas (2020-12). `tools` is ours, and present if the environment declares some; with an
 * action, `tool_observation` is the observation of a step that calls a tool.
 */
export interface SchemaBody {
  action: JsonObject;
  observation: JsonObject;
  state: JsonObject;
  reset_observation: JsonObject;
  tools?: PublishedTool[];
  tool_observation?: JsonObject;
}

/** The result of `openenv/session/episode`: the episode of a session so far. */
export interface EpisodeBody {
  /** Null before the first reset. */
  episode_id: string | null;
  step_count: number;
  /** The sum of the rewards. */
  reward: number;
  done: boolean;
  /** Steps that failed through no fault of the agent. With any, mask the episode. */
  failed_steps: number;
}

/** `POST /sessions/{session_id}/fork`. Without `event`, the copies continue from the last event. */
export interface ForkRequest {
  count: number;
  event?: number | null | undefined;
  /** `split` gives each copy random numbers of its own. Default `same`. */
  rng?: "same" | "split" | null | undefined;
}

/** Answer to `POST /sessions/{session_id}/fork`: each copy waits for a socket that resumes it with its token. */
export interface ForkBody {
  event: number;
  sessions: { session_id: string; token: string }[];
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

/** The sessions that a server has room for. */
export interface ServerCapacityStatus {
  active_sessions: number;
  max_sessions: number;
  available_slots: number;
  is_at_capacity: boolean;
}
