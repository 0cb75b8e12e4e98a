import { sampleValue } from "../env/sample-value.js";
import { BATCH_METHODS, MAX_BATCH_ITEMS } from "../protocol/batch.js";
import type { JsonObject } from "../protocol/messages.js";
import { STATUS } from "./http/respond.js";
import { type ApiParts, inline, nullable, object } from "./openapi.js";

type Schema = Record<string, unknown>;

/** One kind of frame. */
export interface FrameDescription {
  summary: string;
  payload: Schema;
  examples?: { payload: unknown }[];
}

/** What is sent where, for who renders it. */
export interface AsyncApi {
  asyncapi: "3.0.0";
  info: { title: string; version: string; description: string };
  defaultContentType: string;
  channels: Record<
    string,
    { address: string; description: string; messages: Record<string, Schema>; bindings?: Schema }
  >;
  operations: Record<string, { action: "send" | "receive"; summary: string } & Schema>;
  components: { messages: Record<string, FrameDescription>; schemas: Schema };
}

const API_VERSION = "1.0.0";
const TEXT = { type: "string" };
const ANYTHING = { type: "object", additionalProperties: true };

/** The AsyncAPI 3.0 description of the WebSockets, made of the schemas that the OpenAPI document is made of. */
export function renderAsyncApi(parts: ApiParts): AsyncApi {
  const { name, mode, web } = parts;
  const hasPages = web && mode === "simulation";
  const channels: Channel[] = [
    sessionChannel(parts),
    batchChannel(),
    rpcChannel(),
    ...(hasPages ? [pageChannel()] : []),
  ];
  const frames = (channel: Channel) => ({ ...channel.receives, ...channel.sends });
  return {
    asyncapi: "3.0.0",
    info: {
      title: "OpenEnv Environment WebSocket API",
      version: API_VERSION,
      description: `The environment \`${name}\`. One JSON object a frame; every frame but \`close\` is answered once, in order.`,
    },
    defaultContentType: "application/json",
    channels: Object.fromEntries(channels.map((one) => [one.id, renderChannel(one, Object.keys(frames(one)))])),
    operations: Object.assign({}, ...channels.map(renderOperations)),
    components: {
      messages: Object.assign({}, ...channels.map(frames)),
      schemas: { Action: inline(parts.schemas.action), State: inline(parts.schemas.state), ...answerSchemas(parts) },
    },
  };
}

interface Channel {
  id: string;
  address: string;
  description: string;
  query?: Schema;
  /** Frames of the client and of the server, by their names in the document. */
  receives: Record<string, FrameDescription>;
  sends: Record<string, FrameDescription>;
}

function renderChannel({ address, description, query }: Channel, names: string[]): AsyncApi["channels"][string] {
  const messages = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }]));
  const bindings = query && { bindings: { ws: { method: "GET", query, bindingVersion: "0.1.0" } } };
  return { address, description, messages, ...bindings };
}

/** Written from the server's side: it receives what clients send. */
function renderOperations({ id, receives, sends }: Channel): AsyncApi["operations"] {
  const channel = { $ref: `#/channels/${id}` };
  const refs = (names: string[]) => names.map((name) => ({ $ref: `#/channels/${id}/messages/${name}` }));
  const [asked, answered] = [refs(Object.keys(receives)), refs(Object.keys(sends))];
  if (asked.length === 0) {
    return { [`${id}Send`]: { action: "send", summary: "What a page is told", channel, messages: answered } };
  }
  const reply = { channel, messages: answered };
  return {
    [`${id}Receive`]: { action: "receive", summary: "What a client asks", channel, messages: asked, reply },
  };
}

function frame(summary: string, type: string, data?: { schema: Schema; optional?: boolean; example?: unknown }) {
  const properties = { type: { const: type }, ...(data && { data: data.schema }) };
  const required = data && !data.optional ? ["type", "data"] : ["type"];
  const payload = { ...object(`${type} frame`, properties, required), additionalProperties: false };
  const example = data?.example === undefined ? { type } : { type, data: data.example };
  return { summary, payload, examples: [{ payload: example }] } satisfies FrameDescription;
}

/** An answer, to which extensions may add. */
function answer(summary: string, type: string, schema: Schema): FrameDescription {
  const described = object(`${type} answer`, { type: { const: type }, data: schema }, ["type", "data"]);
  return { summary, payload: { ...described, additionalProperties: true } };
}

function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

function sessionChannel({ schemas }: ApiParts): Channel {
  const action = sampleValue(schemas.action) as JsonObject;
  const call = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  return {
    id: "session",
    address: "/ws",
    description: "One session: an environment of its own, which ends with the socket.",
    query: object("Query", {
      session_id: { ...TEXT, description: "Attach to a session that was created over HTTP" },
      openenv: { ...TEXT, description: "Extensions, comma separated: warnings, timing, binary, batch" },
      view: { const: "1", description: "Observations with what the author's render and actions make of them" },
    }),
    receives: {
      reset: frame("Begin an episode", "reset", { schema: ref("Reset"), optional: true, example: { seed: 7 } }),
      step: frame("Take one action; `data` is the action itself", "step", { schema: ref("Action"), example: action }),
      state: frame("Ask for the state", "state"),
      mcp: frame("JSON-RPC to the tools of the session", "mcp", { schema: ref("RpcRequest"), example: call }),
      close: frame("End the session; it is not answered", "close"),
    },
    sends: {
      observation: answer("What reset or step shows", "observation", ref("Observation")),
      stateAnswer: answer("The state", "state", ref("State")),
      mcpAnswer: answer("The JSON-RPC answer", "mcp", ref("RpcResponse")),
      error: answer("What went wrong; the session goes on", "error", ref("Error")),
      queued: answer(
        "With `view=1`, unasked: the place in the queue while the socket waits for a session, 0 when its turn has come",
        "queued",
        object("Queued", { place: { type: "integer", minimum: 0 } }, ["place"]),
      ),
    },
  };
}

function batchChannel(): Channel {
  const numbered = (more: Schema = {}): Schema =>
    object("Item", { session: { type: "integer" }, ...more }, ["session"]);
  const items = (item: Schema): Schema =>
    object("Items", { items: { type: "array", maxItems: MAX_BATCH_ITEMS, items: item } }, ["items"]);
  const withData = { reset_many: numbered({ data: ref("Reset") }), step_many: numbered({ data: ref("Action") }) };
  const many = Object.keys(BATCH_METHODS).map((type) => {
    const item = (withData as Record<string, Schema>)[type] ?? numbered();
    return [type, frame("The same of many sessions", type, { schema: items(item), example: { items: [] } })];
  });
  const count = object("Count", { count: { type: "integer", minimum: 1, maximum: MAX_BATCH_ITEMS } }, ["count"]);
  return {
    id: "batch",
    address: "/ws",
    description: "With `?openenv=batch` the socket carries many sessions and has none of its own.",
    query: object("Query", { openenv: { const: "batch" } }),
    receives: {
      open_many: frame("Open sessions", "open_many", { schema: count, example: { count: 2 } }),
      ...Object.fromEntries(many),
    },
    sends: {
      many: answer(
        "As many answers as items, in their order: `opened`, `closed`, or those of a session",
        "many",
        items(ANYTHING),
      ),
    },
  };
}

function rpcChannel(): Channel {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  return {
    id: "rpc",
    address: "/mcp",
    description: "Bare JSON-RPC to the tools, with a session of its own.",
    receives: {
      rpcRequest: { summary: "tools/list, tools/call", payload: ref("RpcRequest"), examples: [{ payload: call }] },
    },
    sends: { rpcResponse: { summary: "The answer", payload: ref("RpcResponse") } },
  };
}

function pageChannel(): Channel {
  const log = object("ActionLog", {
    timestamp: { ...TEXT, format: "date-time" },
    action: ANYTHING,
    observation: ANYTHING,
    reward: nullable({ type: "number" }),
    done: { type: "boolean" },
    step_count: { type: "integer" },
  });
  const state = object("EpisodeState", {
    episode_id: nullable(TEXT),
    step_count: { type: "integer" },
    current_observation: nullable(ANYTHING),
    action_logs: { type: "array", items: log },
    is_reset: { type: "boolean" },
  });
  const properties = { type: { const: "state_update" }, episode_state: state };
  return {
    id: "page",
    address: "/ws/ui",
    description: "The episode of the visitor that the cookie names; what is sent is ignored.",
    receives: {},
    sends: {
      stateUpdate: {
        summary: "On connect, and after each /web/reset and /web/step",
        payload: object("state_update", properties, ["type", "episode_state"]),
      },
    },
  };
}

function answerSchemas({ schemas }: ApiParts): Schema {
  const id = { anyOf: [TEXT, { type: "integer" }, { type: "null" }] };
  const version = { const: "2.0" };
  const issue = object("ValidationError", { type: TEXT, loc: { type: "array" }, msg: TEXT, input: {} }, [
    "type",
    "loc",
    "msg",
  ]);
  return {
    Reset: {
      ...object("Reset", {
        seed: nullable({ type: "integer", minimum: 0 }),
        episode_id: nullable({ ...TEXT, maxLength: 255 }),
      }),
      additionalProperties: true,
    },
    Observation: object(
      "Observation",
      {
        observation: inline(schemas.observation),
        reward: { anyOf: [{ type: "number" }, { type: "boolean" }, { type: "null" }] },
        done: { type: "boolean" },
        metadata: ANYTHING,
      },
      ["observation", "reward", "done"],
    ),
    Error: object(
      "Error",
      { code: { ...TEXT, enum: Object.keys(STATUS) }, message: TEXT, errors: { type: "array", items: issue } },
      ["code", "message"],
    ),
    RpcRequest: object("RpcRequest", { jsonrpc: version, id, method: TEXT, params: ANYTHING }, ["jsonrpc", "method"]),
    RpcResponse: object("RpcResponse", { jsonrpc: version, id, result: {}, error: ANYTHING }, ["jsonrpc", "id"]),
  };
}
