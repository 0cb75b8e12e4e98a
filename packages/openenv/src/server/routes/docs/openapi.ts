import type { SchemaBody } from "../../../protocol/http.js";
import type { Mode } from "../../../session/runtime.js";

/** The version of the HTTP API, which is not the package's. */
const API_VERSION = "1.0.0";

type Schema = Record<string, unknown>;

export interface ApiParts {
  mode: Mode;
  name: string;
  schemas: SchemaBody;
  /** The web interface is served. */
  web: boolean;
}

/** The OpenAPI 3.1 description of `GET /openapi.json`; in production without the simulation routes. */
export function renderOpenApi({ mode, name, schemas, web }: ApiParts): object {
  const simulation = mode === "simulation";
  const anyObject = { type: "object" };
  return {
    openapi: "3.1.0",
    info: {
      title: "OpenEnv Environment HTTP API",
      version: API_VERSION,
      description: `The environment \`${name}\`. Training talks to the WebSocket \`/ws\`; these routes are for everything else.`,
    },
    paths: {
      ...(simulation ? controlPaths(String(schemas.state["title"])) : {}),
      "/metadata": { get: operation("Info", "Who this environment is", ref("EnvironmentMetadata")) },
      "/health": { get: operation("Info", "Whether the server takes requests", ref("HealthResponse")) },
      ...probePaths(),
      "/schema": { get: operation("Info", "JSON Schemas of action, observation and state", ref("SchemaResponse")) },
      ...taskPaths(),
      ...operatorPaths(),
      "/mcp": {
        post: posting("MCP", "JSON-RPC: tools and sessions; MCP for clients of it", {
          body: anyObject,
          answer: anyObject,
        }),
      },
      ...(web && simulation ? webPaths(String(schemas.state["title"])) : {}),
    },
    components: { schemas: { ...commonSchemas(), ...(simulation ? controlSchemas(schemas) : {}) } },
  };
}

function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

function json(schema: Schema): Schema {
  return { "application/json": { schema } };
}

function operation(tag: string, summary: string, answer: Schema): Schema {
  return { tags: [tag], summary, responses: { 200: { description: "OK", content: json(answer) } } };
}

interface Posting {
  body: Schema;
  answer: Schema;
  /** Without a body the request means the same as with an empty object. */
  bodyOptional?: boolean;
}

function posting(tag: string, summary: string, { body, answer, bodyOptional = false }: Posting): Schema {
  return {
    tags: [tag],
    summary,
    requestBody: { required: !bodyOptional, content: json(body) },
    responses: {
      200: { description: "OK", content: json(answer) },
      422: { description: "Validation Error", content: json(ref("HTTPValidationError")) },
    },
  };
}

const SESSION_PARAMETER = {
  name: "openenv-session",
  in: "header",
  required: false,
  schema: { type: "string" },
  description: "The session that /reset answered; without it the request has an environment of its own.",
};

function controlPaths(stateName: string): Schema {
  const parameters = [SESSION_PARAMETER];
  const begin = "Begin an episode; the answer names a session that /step and /state continue";
  const reset = { body: ref("ResetRequest"), answer: ref("ResetResponse"), bodyOptional: true };
  const step = { body: ref("StepRequest"), answer: ref("StepResponse") };
  return {
    "/reset": { post: posting("Control", begin, reset), parameters },
    "/step": { post: posting("Control", "Take one action", step), parameters },
    "/state": { get: operation("Control", "The state of the episode", ref(stateName)), parameters },
  };
}

/** For orchestrators. */
function probePaths(): Schema {
  const reason = { enum: ["draining", "paused", "full"] };
  const reasons = { type: "array", items: reason };
  const alive = object("Liveness", { status: { const: "alive" } }, ["status"]);
  const state = { status: { enum: ["ready", "not ready"] }, reasons };
  const readiness = object("Readiness", state, ["status", "reasons"]);
  const ready = operation("Info", "Whether the server takes new sessions", readiness);
  const notReady = { description: "Service Unavailable", content: json(readiness) };
  const exclude = {
    name: "exclude",
    in: "query",
    required: false,
    schema: reasons,
    description: "Reasons that do not count",
  };
  return {
    "/livez": { get: operation("Info", "Answers as long as a process serves", alive) },
    "/readyz": {
      get: { ...ready, responses: { ...(ready["responses"] as object), 503: notReady }, parameters: [exclude] },
    },
  };
}

/** Of a visitor, whose session a cookie names. */
function webPaths(stateName: string): Schema {
  const info = operation("Web interface", "Who this environment is, with its README", ref("EnvironmentMetadata"));
  const anyObject = { type: "object" };
  const answer = ref("StepResponse");
  const reset = { body: anyObject, answer: ref("ResetResponse"), bodyOptional: true };
  return {
    "/web/metadata": { get: info },
    "/web/reset": { post: posting("Web interface", "Begin an episode of this visitor", reset) },
    "/web/step": { post: posting("Web interface", "Take one action in it", { body: ref("StepRequest"), answer }) },
    "/web/state": { get: operation("Web interface", "Its state", ref(stateName)) },
  };
}

/** With the operator's token as bearer token. */
function operatorPaths(): Schema {
  const anyObject = { type: "object" };
  const paused = object("Paused", { paused: { type: "boolean" } }, ["paused"]);
  const ended = object("SessionEnded", { session_id: { type: "string" }, closed: { type: "boolean" } });
  const parameters = [{ name: "session_id", in: "path", required: true, schema: { type: "string" } }];
  return {
    "/sessions": { get: operation("Operators", "The sessions that are open, and the capacity", anyObject) },
    "/sessions/{session_id}": { delete: operation("Operators", "End a session", ended), parameters },
    "/sessions/pause": { post: operation("Operators", "Open no more sessions; open sessions continue", paused) },
    "/sessions/resume": { post: operation("Operators", "Open sessions again", paused) },
  };
}

function taskPaths(): Schema {
  const list = { type: "array", items: { type: "object" } };
  const tasks = { type: "object", properties: { tasks: list, env_name: { type: "string" } } };
  const parameters = [{ name: "env_name", in: "path", required: true, schema: { type: "string" } }];
  const post = (summary: string, body: string, answer: Schema): Schema => ({
    post: posting("Tasks", summary, { body: ref(body), answer }),
    parameters,
  });
  return {
    "/list_environments": {
      get: operation("Tasks", "The name of this environment", { type: "array", items: { type: "string" } }),
    },
    "/{env_name}/splits": { get: operation("Tasks", "The splits of the tasks", list), parameters },
    "/{env_name}/tasks": post("All tasks of a split", "ListTasksRequest", tasks),
    "/{env_name}/num_tasks": post("How many tasks a split has", "NumTasksRequest", {
      type: "object",
      properties: { num_tasks: { type: "integer" } },
    }),
    "/{env_name}/task": post("One task", "GetTaskRequest", {
      type: "object",
      properties: { task: { type: "object" } },
    }),
    "/{env_name}/task_range": post("Tasks start to stop, stop exclusive", "GetTaskRangeRequest", tasks),
  };
}

/** The schema of an object with these members. */
function object(title: string, properties: Schema, required: string[] = []): Schema {
  return { title, type: "object", properties, ...(required.length > 0 ? { required } : {}) };
}

function nullable(schema: Schema): Schema {
  return { anyOf: [schema, { type: "null" }] };
}

function commonSchemas(): Schema {
  const text = { type: "string" };
  const integer = { type: "integer" };
  const anything = { type: "object", additionalProperties: true };
  const closed = (schema: Schema): Schema => ({ ...schema, additionalProperties: false });
  const loc = { type: "array", items: { anyOf: [text, integer] } };
  return {
    EnvironmentMetadata: object(
      "EnvironmentMetadata",
      {
        name: text,
        description: text,
        readme_content: nullable(text),
        version: nullable(text),
        author: nullable(text),
        documentation_url: nullable(text),
        contract: object("ContractFingerprint", { version: text, hash: text }),
      },
      ["name", "description"],
    ),
    HealthStatus: { title: "HealthStatus", type: "string", enum: ["healthy", "unhealthy", "degraded"] },
    HealthResponse: object("HealthResponse", { status: ref("HealthStatus") }, ["status"]),
    SchemaResponse: object(
      "SchemaResponse",
      {
        action: anything,
        observation: anything,
        state: anything,
        reset_observation: anything,
        tools: { type: "array", items: anything, description: "Where the environment declares some" },
      },
      ["action", "observation", "state"],
    ),
    ListTasksRequest: closed(object("ListTasksRequest", { split: text }, ["split"])),
    NumTasksRequest: closed(object("NumTasksRequest", { split: text }, ["split"])),
    GetTaskRequest: closed(object("GetTaskRequest", { split: text, index: integer }, ["split", "index"])),
    GetTaskRangeRequest: closed(
      object("GetTaskRangeRequest", { split: text, start: nullable(integer), stop: nullable(integer) }, ["split"]),
    ),
    ValidationError: object("ValidationError", { loc, msg: text, type: text }, ["loc", "msg", "type"]),
    HTTPValidationError: object("HTTPValidationError", {
      detail: { type: "array", items: ref("ValidationError") },
    }),
  };
}

function controlSchemas({ action, observation, state }: SchemaBody): Schema {
  const text = { type: "string", maxLength: 255 };
  const answer = (title: string): Schema =>
    object(
      title,
      {
        observation: inline(observation),
        reward: nullable({ type: "number" }),
        done: { type: "boolean", default: false },
        metadata: nullable({ type: "object", additionalProperties: true }),
      },
      ["observation"],
    );
  return {
    ResetRequest: {
      ...object("ResetRequest", { seed: nullable({ type: "integer", minimum: 0 }), episode_id: nullable(text) }),
      additionalProperties: true,
    },
    ResetResponse: answer("ResetResponse"),
    StepRequest: {
      ...object(
        "StepRequest",
        {
          action: inline(action),
          timeout_s: nullable({ type: "number", exclusiveMinimum: 0 }),
          request_id: nullable(text),
        },
        ["action"],
      ),
      additionalProperties: true,
    },
    StepResponse: answer("StepResponse"),
    [String(state["title"])]: inline(state),
  };
}

/** A schema with definitions of its own becomes a resource of its own, so that its `#/$defs/…` stay right. */
function inline(schema: Schema): Schema {
  return "$defs" in schema ? { $id: `urn:openenv:${String(schema["title"])}`, ...schema } : schema;
}
