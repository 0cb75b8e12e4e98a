/**
 * The HTTP bodies, each defined once: types, validation and the OpenAPI document derive from these schemas. Clients and
 * the page use the types alone, from `http.ts`, and load no zod.
 */
import * as z from "zod";
import { isObject } from "../util/is-object.js";
import type { RESET_KEYS } from "./codec/codec.js";
import type { JsonObject } from "./messages.js";
import type * as published from "./published.js";

/** Passed on as it is. A record of zod would copy each member and lose one named `__proto__`. */
const jsonObject = z
  .custom<JsonObject>(isObject, { message: "must be an object", params: { type: "dict_type" } })
  .meta({ type: "object", additionalProperties: true });
const shortText = z.string().max(255).nullish();

/** `POST /reset`; the contract adds its own options. */
export const resetRequest = z.looseObject({
  seed: z.int().min(0).nullish(),
  episode_id: shortText,
  split: z.string().nullish(),
  index: z.int().nullish(),
} satisfies Record<(typeof RESET_KEYS)[number], z.ZodType>);

/** `POST /step`. `action` is that of the contract, `timeout_s` in seconds. */
export const stepRequest = z.object({
  action: jsonObject,
  timeout_s: z.number().gt(0).nullish(),
  request_id: shortText,
});

/** Answer to `POST /step`. `observation` is that of the contract. */
export const stepBody = z.object({
  observation: jsonObject,
  reward: z.number().nullable(),
  done: z.boolean(),
  metadata: jsonObject.nullable(),
});
export type StepBody = z.infer<typeof stepBody>;

/** Answer to `POST /reset`. */
export const resetBody = z.object(stepBody.shape);

/** `POST /web/step` of the Python package's page. */
export const webStepRequest = stepRequest.pick({ action: true });

/** The requests of the Task API. */
export const listTasksRequest = z.strictObject({ split: z.string() });
export const numTasksRequest = z.strictObject(listTasksRequest.shape);
export const taskRequest = listTasksRequest.extend({ index: z.int() });
export const taskRangeRequest = listTasksRequest.extend({ start: z.int().nullish(), stop: z.int().nullish() });

export const environmentsBody = z.array(z.string());
export const splitsBody = z.array(jsonObject);
export const tasksBody = z.object({ tasks: z.array(jsonObject), env_name: z.string() });
export const taskCountBody = z.object({ num_tasks: z.int() });
export const taskBody = z.object({ task: jsonObject });
export const taskRangeBody = tasksBody.pick({ tasks: true });

const contractFingerprint = z.object({
  version: z.string(),
  hash: z.string(),
}) satisfies z.ZodType<published.ContractFingerprint>;

export const metadataBody = z.object({
  name: z.string(),
  description: z.string(),
  readme_content: z.string().nullable(),
  version: z.string().nullable(),
  author: z.string().nullable(),
  documentation_url: z.string().nullable(),
  contract: contractFingerprint.exactOptional(),
  server_version: z.string().exactOptional(),
}) satisfies z.ZodType<published.MetadataBody>;

const publishedTool = z.object({
  name: z.string(),
  description: z.string(),
  input_schema: jsonObject,
  output_schema: jsonObject.exactOptional(),
}) satisfies z.ZodType<published.PublishedTool>;

export const schemaBody = z.object({
  action: jsonObject,
  observation: jsonObject,
  state: jsonObject,
  reset_observation: jsonObject,
  tools: z.array(publishedTool).exactOptional(),
  tool_observation: jsonObject.exactOptional(),
}) satisfies z.ZodType<published.SchemaBody>;

export const healthStatus = z.enum(["healthy", "unhealthy", "degraded"]);
/** `GET /health`. */
export const healthBody = z.object({ status: healthStatus });
export type HealthBody = z.infer<typeof healthBody>;

/** `GET /livez`. */
export const livenessBody = z.object({ status: z.literal("alive") });
export type LivenessBody = z.infer<typeof livenessBody>;

/** Why a server opens no sessions: it drains, an operator has paused it, or all its sessions are in use. */
export const notReadyReasons = z.array(z.enum(["draining", "paused", "full", "journal"]));
export type NotReadyReason = z.infer<typeof notReadyReasons>[number];

/** `GET /readyz`: 200 without a reason, else 503. */
export const readinessBody = z.object({ status: z.enum(["ready", "not ready"]), reasons: notReadyReasons });
export type ReadinessBody = z.infer<typeof readinessBody>;

const sessionInfo = z.object({
  session_id: z.string(),
  created_at: z.number(),
  last_activity_at: z.number(),
  step_count: z.int(),
  environment_type: z.string(),
  episode_id: z.string().nullable(),
  attached: z.boolean(),
}) satisfies z.ZodType<published.SessionInfo>;

const serverCapacityStatus = z.object({
  active_sessions: z.int(),
  max_sessions: z.int(),
  available_slots: z.int(),
  is_at_capacity: z.boolean(),
}) satisfies z.ZodType<published.ServerCapacityStatus>;

/** `GET /sessions`. */
export const sessionsBody = z.object({ capacity: serverCapacityStatus, sessions: z.array(sessionInfo) });
export type SessionsBody = z.infer<typeof sessionsBody>;

/** Answer to `DELETE /sessions/{session_id}`. */
export const sessionEndedBody = z.object({ session_id: z.string(), closed: z.literal(true) });
export type SessionEndedBody = z.infer<typeof sessionEndedBody>;

/** Most copies that one request makes. */
const MAX_FORKS = 1024;

/** `POST /sessions/{session_id}/fork`. Without `event`, the copies continue from the last event. */
export const forkRequest = z.strictObject({
  count: z.int().min(1).max(MAX_FORKS),
  event: z.int().min(1).nullish(),
  rng: z.enum(["same", "split"]).nullish(),
}) satisfies z.ZodType<published.ForkRequest>;

/** Answer to `POST /sessions/{session_id}/fork`: each copy waits for a socket that resumes it with its token. */
export const forkBody = z.object({
  event: z.int(),
  sessions: z.array(z.object({ session_id: z.string(), token: z.string() })),
}) satisfies z.ZodType<published.ForkBody>;

/** Answer to `GET /sessions/{session_id}/events`. `recorded` is what the environment got from outside. */
export const eventsBody = z.object({
  events: z.array(
    z.object({
      event: z.int(),
      type: z.enum(["reset", "step", "tool"]),
      request: z.record(z.string(), z.unknown()),
      answer: z.record(z.string(), z.unknown()),
      recorded: z
        .object({
          seed: z.number().optional(),
          times: z.array(z.number()).optional(),
          effects: z.array(z.looseObject({ name: z.string() })).optional(),
        })
        .optional(),
    }),
  ),
});
export type EventsBody = z.input<typeof eventsBody>;

/** Answer to `POST /sessions/pause` and `POST /sessions/resume`. */
export const pausedBody = z.object({ paused: z.boolean() });
export type PausedBody = z.infer<typeof pausedBody>;

/** One entry of a 422 answer; it also has `input`, and `ctx` where there is more to know. */
export const validationError = z.object({
  loc: z.array(z.union([z.string(), z.int()])),
  msg: z.string(),
  type: z.string(),
});
export const validationErrorBody = z.object({ detail: z.array(validationError) });
