import * as z from "zod";
import * as bodies from "../../../protocol/bodies.js";
import { NAME_HEADER, type SchemaBody, SESSION_TOKEN_HEADER } from "../../../protocol/http.js";
import type { JsonObject } from "../../../protocol/messages.js";
import type { Mode } from "../../../session/runtime.js";
import type { GatewayRoute } from "../../gateway/gateway.js";

/** The version of the HTTP API, which is not the package's. */
const API_VERSION = "1.0.0";

interface ApiParts {
  mode: Mode;
  name: string;
  schemas: SchemaBody;
  /** The web interface is served. */
  web: boolean;
  /** The routes of ORS; none if it is not served. */
  ors: readonly GatewayRoute[];
  /** Sessions are kept without a connection, so that they have tokens and can be copied. */
  keeps: boolean;
}

/** The OpenAPI 3.1 description of `GET /openapi.json`; in production without the simulation routes. */
export function renderOpenApi({ mode, name, schemas, web, ors, keeps }: ApiParts): object {
  const simulation = mode === "simulation";
  const state = { $ref: pathOf(String(schemas.state["title"])) };
  const paths = keeps ? { ...PATHS, ...KEPT_PATHS } : PATHS;
  return {
    openapi: "3.1.0",
    info: {
      title: "OpenEnv Environment HTTP API",
      version: API_VERSION,
      description: `The environment \`${name}\`. Training talks to the WebSocket \`/ws\`; these routes are for everything else.`,
    },
    paths: {
      ...(simulation ? controlPaths(state) : {}),
      ...(ors.length > 0 ? { ...sharedWithOrs(paths), ...orsPaths(ors) } : paths),
      ...(web && simulation ? webPaths(state) : {}),
    },
    components: {
      schemas: { ...renderComponents(COMPONENTS), ...(simulation ? controlComponents(schemas) : {}) },
    },
  };
}

/** Bodies that are components, named as in the Python package. The others are written out where they are used. */
const COMPONENTS = {
  EnvironmentMetadata: bodies.metadataBody,
  HealthStatus: bodies.healthStatus,
  HealthResponse: bodies.healthBody,
  SchemaResponse: bodies.schemaBody,
  ListTasksRequest: bodies.listTasksRequest,
  NumTasksRequest: bodies.numTasksRequest,
  GetTaskRequest: bodies.taskRequest,
  GetTaskRangeRequest: bodies.taskRangeRequest,
  ValidationError: bodies.validationError,
  HTTPValidationError: bodies.validationErrorBody,
};
const CONTROL_COMPONENTS = {
  ResetRequest: bodies.resetRequest,
  ResetResponse: bodies.resetBody,
  StepRequest: bodies.stepRequest,
  StepResponse: bodies.stepBody,
};
const NAMES = new Map<z.ZodType, string>(
  Object.entries({ ...COMPONENTS, ...CONTROL_COMPONENTS }).map(([name, schema]) => [schema, name]),
);

function renderComponents(named: Readonly<Record<string, z.ZodType>>): Record<string, JsonObject> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { ...RENDERING, uri: pathOf });
  return Object.fromEntries(
    Object.entries(schemas).map(([title, { $schema, $id, ...schema }]) => [title, { title, ...schema }]),
  );
}

/** The components with the schemas of the contract in place of any object. */
function controlComponents({ action, observation, state }: SchemaBody): Record<string, JsonObject> {
  const components = renderComponents(CONTROL_COMPONENTS);
  const fill = (name: keyof typeof CONTROL_COMPONENTS, key: string, schema: JsonObject): void => {
    (components[name]?.["properties"] as JsonObject)[key] = inline(schema);
  };
  fill("ResetResponse", "observation", observation);
  fill("StepRequest", "action", action);
  fill("StepResponse", "observation", observation);
  return { ...components, [String(state["title"])]: inline(state) };
}

/** A schema with definitions gets its own `$id`, so that its `#/$defs/…` references stay valid. */
function inline(schema: JsonObject): JsonObject {
  return "$defs" in schema ? { $id: `urn:openenv:${String(schema["title"])}`, ...schema } : schema;
}

const RENDERING = {
  io: "input",
  unrepresentable: "any",
  /** zod gives every integer the limits of what JavaScript can represent. */
  override: ({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }) => {
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  },
} as const;

function pathOf(name: string): string {
  return `#/components/schemas/${name}`;
}

type Reference = { $ref: string };
/** A body, or a reference to a component that the contract defines. */
type Body = z.ZodType | Reference;

/** The body of a stream of server-sent events. */
const EVENTS = z.string();

function content(body: Body): JsonObject {
  return {
    [body === EVENTS ? "text/event-stream" : "application/json"]: { schema: "$ref" in body ? body : referTo(body) },
  };
}

/** A reference to the component, or the schema itself if it is not one. */
function referTo(schema: z.ZodType): JsonObject {
  const name = NAMES.get(schema);
  return name === undefined ? render(schema) : { $ref: pathOf(name) };
}

function render(schema: z.ZodType): JsonObject {
  const { $schema, ...rendered } = z.toJSONSchema(schema, RENDERING);
  return rendered;
}

interface Operation {
  tags: string[];
  summary: string;
  parameters?: JsonObject[];
  requestBody?: JsonObject;
  responses: Record<number, JsonObject>;
}

interface PathItem extends Partial<Record<"get" | "post" | "delete", Operation>> {
  parameters?: JsonObject[];
}

function operation(tag: string, summary: string, answer: Body): Operation {
  return { tags: [tag], summary, responses: { 200: { description: "OK", content: content(answer) } } };
}

function posting(tag: string, summary: string, { body, answer }: { body: Body; answer: Body }): Operation {
  const { responses, ...described } = operation(tag, summary, answer);
  const invalid = { description: "Validation Error", content: content(bodies.validationErrorBody) };
  // A reset without a body is the same as one with an empty object.
  const required = answer !== bodies.resetBody;
  return { ...described, requestBody: { required, content: content(body) }, responses: { ...responses, 422: invalid } };
}

function parameter(where: "header" | "path" | "query", name: string, description?: string): JsonObject {
  const about = description === undefined ? {} : { description };
  return { name, in: where, required: where === "path", schema: { type: "string" }, ...about };
}

function controlPaths(state: Reference): JsonObject {
  const named = "The session that /reset answered; without it the request has its own environment.";
  const ownName = "A name of the session that the client chooses: 16 to 128 characters of A-Z, a-z, 0-9, _ and -.";
  const parameters = [parameter("header", "openenv-session", named), parameter("header", NAME_HEADER, ownName)];
  const begin = "Begin an episode; the answer names a session that /step and /state continue";
  const reset = { body: bodies.resetRequest, answer: bodies.resetBody };
  const step = { body: bodies.stepRequest, answer: bodies.stepBody };
  return {
    "/reset": { post: posting("Control", begin, reset), parameters },
    "/step": { post: posting("Control", "Take one action", step), parameters },
    "/state": { get: operation("Control", "The state of the episode", state), parameters },
  };
}

/** Routes of a visitor, whose session is named by a cookie. */
function webPaths(state: Reference): JsonObject {
  const tag = "Web interface";
  const reset = { body: anyObject, answer: bodies.resetBody };
  const step = { body: bodies.webStepRequest, answer: bodies.stepBody };
  return {
    "/web/metadata": { get: operation(tag, "Who this environment is, with its README", bodies.metadataBody) },
    "/web/reset": { post: posting(tag, "Begin an episode of this visitor", reset) },
    "/web/step": { post: posting(tag, "Take one action in it", step) },
    "/web/state": { get: operation(tag, "Its state", state) },
  };
}

const orsSession = "x-session-id";

function orsPaths(routes: readonly GatewayRoute[]): JsonObject {
  return Object.fromEntries(
    routes.map(({ method, path, summary, ofSession, body, answer = EVENTS }) => {
      const described = body ? posting("ORS", summary, { body, answer }) : operation("ORS", summary, answer);
      const parameters = [
        ...(path.startsWith("/{env_name}/") ? envName : []),
        ...(ofSession ? [{ ...parameter("header", orsSession), required: true }] : []),
      ];
      return [path, { [method]: described, parameters }];
    }),
  );
}

/** The Task API answers clients of ORS, which send this header, in the way of ORS. */
function sharedWithOrs(paths: typeof PATHS): JsonObject {
  const header = parameter("header", orsSession, "Sent by clients of ORS, which get the answer of ORS");
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]) => {
      const { parameters = [], get, post } = item;
      const isShared = (get ?? post)?.tags.includes("Tasks") === true;
      return [path, isShared ? { ...item, parameters: [...parameters, header] } : item];
    }),
  );
}

const anyObject = z.object({});
const envName = [parameter("path", "env_name")];
const excluded = {
  ...parameter("query", "exclude", "Reasons that do not count"),
  schema: render(bodies.notReadyReasons),
};

function taskPath(summary: string, body: Body, answer: Body): PathItem {
  return { post: posting("Tasks", summary, { body, answer }), parameters: envName };
}

function readiness(): Operation {
  const ready = operation("Info", "Whether the server takes new sessions", bodies.readinessBody);
  const notReady = { description: "Service Unavailable", content: content(bodies.readinessBody) };
  return { ...ready, responses: { ...ready.responses, 503: notReady } };
}

const PATHS: Record<string, PathItem> = {
  "/metadata": { get: operation("Info", "Who this environment is", bodies.metadataBody) },
  "/health": { get: operation("Info", "Whether the server takes requests", bodies.healthBody) },
  "/livez": { get: operation("Info", "Answers as long as a process serves", bodies.livenessBody) },
  "/readyz": { get: { ...readiness(), parameters: [excluded] } },
  "/schema": { get: operation("Info", "JSON Schemas of action, observation and state", bodies.schemaBody) },
  "/list_environments": { get: operation("Tasks", "The name of this environment", bodies.environmentsBody) },
  "/{env_name}/splits": {
    get: operation("Tasks", "The splits of the tasks", bodies.splitsBody),
    parameters: envName,
  },
  "/{env_name}/tasks": taskPath("All tasks of a split", bodies.listTasksRequest, bodies.tasksBody),
  "/{env_name}/num_tasks": taskPath("How many tasks a split has", bodies.numTasksRequest, bodies.taskCountBody),
  "/{env_name}/task": taskPath("One task", bodies.taskRequest, bodies.taskBody),
  "/{env_name}/task_range": taskPath(
    "Tasks start to stop, stop exclusive",
    bodies.taskRangeRequest,
    bodies.taskRangeBody,
  ),
  // These need the operator's token as bearer token.
  "/sessions": { get: operation("Operators", "The sessions that are open, and the capacity", bodies.sessionsBody) },
  "/sessions/{session_id}": {
    delete: operation("Operators", "End a session", bodies.sessionEndedBody),
    parameters: [parameter("path", "session_id")],
  },
  "/sessions/pause": {
    post: operation("Operators", "Open no more sessions; open sessions continue", bodies.pausedBody),
  },
  "/sessions/resume": { post: operation("Operators", "Open sessions again", bodies.pausedBody) },
  "/mcp": {
    post: posting("MCP", "JSON-RPC: tools and sessions; MCP for clients of it", { body: anyObject, answer: anyObject }),
  },
};

const keptSession = [
  parameter("path", "session_id"),
  parameter("header", SESSION_TOKEN_HEADER, "The token of the session; not needed with the operator's token"),
];

const KEPT_PATHS: Record<string, PathItem> = {
  "/sessions/{session_id}/fork": {
    post: posting("Sessions", "Copy a session; sockets resume the copies", {
      body: bodies.forkRequest,
      answer: bodies.forkBody,
    }),
    parameters: keptSession,
  },
  "/sessions/{session_id}/events": {
    get: operation("Sessions", "The events of the current episode", bodies.eventsBody),
    parameters: keptSession,
  },
};
