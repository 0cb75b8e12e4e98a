import {
  parseRpcRequest,
  RPC_ERRORS,
  RpcError,
  type RpcResponse,
  rpcFailure,
  rpcIdOf,
} from "../../protocol/jsonrpc.js";
import type { JsonObject, ServerMessage } from "../../protocol/messages.js";
import type { EpisodeBody } from "../../protocol/published.js";
import { type AgentOutcome, type AgentResult, type ToolEntry, toolFault } from "../../protocol/tools.js";
import { after } from "../../util/async/after.js";
import { isThenable } from "../../util/async/thenable.js";
import { isObject } from "../../util/is-object.js";
import { clip } from "../../util/text/clip.js";
import type { MaybePromise } from "../../util/types.js";
import { briefInput } from "../../validation/errors/brief-input.js";
import { callAgentTool, listAgentTools } from "../agents/agent-call.js";
import type { Principal, SessionOpener } from "../attachable-session.js";
import type { SessionCallOptions } from "../calls/call.js";
import { internalError } from "../failure.js";
import { serializationFailure, serializeReply } from "../messages/message-codec.js";
import { callToolAlone } from "../registry/call-alone.js";
import type { AddressUse } from "../registry/session-keeper.js";
import type { Sessions } from "../registry/sessions.js";
import type { Runtime } from "../runtime.js";
import type { Session } from "../session.js";
import { SessionRejectedError } from "../session-rejected-error.js";

const MAX_ECHO = 100;
/** The error for a peer without the orchestrator's token that tries to end a session of the orchestrator. */
export const OF_ORCHESTRATOR =
  "The session belongs to the orchestrator: end it with OPENENV_ORCHESTRATOR_TOKEN as bearer token";

/** The origin of a request. `own` is the session of the socket; HTTP requests name a session in `params`. */
export interface RpcContext {
  runtime: Runtime;
  sessions: Sessions | undefined;
  own?: Session | undefined;
  /** Finds or opens the session of the address for an HTTP request: its `own`. */
  attach?: ((use: AddressUse) => Promise<Session | undefined>) | undefined;
  /** The peer has the orchestrator's token. */
  orchestrator?: boolean | undefined;
  /** The peer, if a plugin has recognised it. */
  principal?: Principal | undefined;
  /** That of the HTTP request; one in `_meta` of the parameters is preferred. */
  traceparent?: SessionCallOptions["traceparent"];
  numbered?: SessionCallOptions["numbered"];
  /** Registers a function that cancels a call when the client disconnects. */
  onDisconnect?: SessionCallOptions["onDisconnect"];
  onCancel?: SessionCallOptions["onCancel"];
}

/**
 * Answers one JSON-RPC request of `/mcp` or of an `mcp` frame; synchronously if nothing has to be waited for. Never throws
 * or rejects.
 */
export function answerRpc(value: unknown, context: RpcContext): MaybePromise<RpcResponse> {
  const failed = (error: unknown): RpcResponse => rpcFailure(rpcIdOf(value), asRpcError(error, context.runtime));
  try {
    if (!isObject(value)) throw new RpcError(RPC_ERRORS.parse, "Parse error: a request must be one JSON object");
    const request = parseRpcRequest(value);
    const call = METHODS.get(request.method);
    if (call === undefined) {
      throw new RpcError(RPC_ERRORS.methodNotFound, `Method not found: ${clip(request.method, MAX_ECHO)}`);
    }
    const { attach } = context;
    const perform = (place: RpcContext): MaybePromise<RpcResponse> => {
      place.own?.claim();
      place.own?.touch();
      return after(call(request.params, place), (result) => ({ jsonrpc: "2.0", id: request.id, result }) as const);
    };
    const answer =
      attach === undefined
        ? perform(context)
        : attach(addressUseOf(value) ?? "find").then((own) => perform({ ...context, own }));
    return isThenable(answer) ? Promise.resolve(answer).catch(failed) : answer;
  } catch (error) {
    return failed(error);
  }
}

/** What a request does with the session of its address; undefined for a request that is not valid. */
export function addressUseOf(value: unknown): AddressUse | undefined {
  const method = isObject(value) ? value["method"] : undefined;
  if (typeof method !== "string" || !METHODS.has(method)) return undefined;
  return method === CLOSE ? "find" : "open";
}

/** Answers an `mcp` frame. Never rejects. */
export async function answerMcp(request: unknown, context: RpcContext): Promise<ServerMessage> {
  return { type: "mcp", data: { ...(await answerRpc(request, context)) } };
}

/** Serialises a response. A result that cannot be serialised becomes an internal error of the same request. */
export function renderRpc(response: RpcResponse, maxBytes: number): string {
  try {
    return serializeReply(response, maxBytes);
  } catch (error) {
    return JSON.stringify(rpcFailure(response.id, notSendable(error)));
  }
}

function notSendable(error: unknown): RpcError {
  return new RpcError(RPC_ERRORS.internal, serializationFailure(error), { fault: "environment" });
}

/** The JSON-RPC error for a rejected session. */
export function rejectionToRpc(rejection: SessionRejectedError): RpcError {
  const { active_sessions, max_sessions, factory_name, code, fault } = rejection.data;
  if (code === "FACTORY_ERROR") return new RpcError(RPC_ERRORS.server, rejection.message, { factory_name, fault });
  const data = code === "CAPACITY_REACHED" ? { active_sessions, max_sessions, fault } : { code, fault };
  return new RpcError(RPC_ERRORS.server, rejection.message, data);
}

const CREATE = "openenv/session/create";
const CLOSE = "openenv/session/close";

type Method = (params: JsonObject, context: RpcContext) => unknown;

const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>(
  Object.entries({
    [CREATE]: createSession,
    "openenv/session/episode": readEpisode,
    [CLOSE]: (params, context) => closeSession(params["session_id"], context),
    "tools/list"(params, context) {
      return { tools: requireTools(context, sessionOf(params, context)) };
    },
    "tools/call": callNamedTool,
  } satisfies Record<string, Method>),
);

/** @throws RpcError for an environment without tools. */
function requireTools({ runtime }: RpcContext, session: Session | undefined): readonly ToolEntry[] {
  const tools = listAgentTools(runtime, session);
  if (tools === undefined)
    throw new RpcError(RPC_ERRORS.internal, "Environment does not support MCP", { fault: "client" });
  return tools;
}

/** Calls a tool in the session of the socket or the named session; otherwise in an environment for this call only. */
function callNamedTool(params: JsonObject, context: RpcContext): MaybePromise<AgentResult> {
  const named = sessionOf(params, context);
  requireTools(context, named);
  const { name, arguments: given } = params;
  if (typeof name !== "string") throw new RpcError(RPC_ERRORS.invalidParams, 'Invalid params: "name" must be a string');
  if (given !== undefined && given !== null && !isObject(given)) {
    throw toolFailure({ error_type: "invalid_args", message: 'Invalid params: "arguments" must be an object' });
  }
  // Only a client in process has no `sessions`, and it always has its own session.
  const request = { name, given: given ?? {} };
  const { onDisconnect, onCancel, numbered } = context;
  const options = { onDisconnect, onCancel, numbered, traceparent: metaTrace(params, context) };
  const { runtime, sessions } = context as RpcContext & { sessions: Sessions };
  const outcome =
    named === undefined
      ? callToolAlone({ runtime, sessions }, request, { ...options, opener: openerOf(params, context) })
      : callAgentTool(named, request, options);
  return after<AgentOutcome, AgentResult>(outcome, ({ result, error }) => {
    if (result !== null) return result;
    throw toolFailure(error);
  });
}

/** The Python package has one code for all failures of tools; `data` has the type. */
function toolFailure(error: NonNullable<AgentOutcome["error"]>): RpcError {
  const { message, ...data } = error;
  return new RpcError(RPC_ERRORS.internal, message, { ...data, fault: toolFault(error) });
}

/** The session of the socket, or the session that the request names. */
function sessionOf(params: JsonObject, context: RpcContext): Session | undefined {
  if (context.own !== undefined) return context.own;
  return params["session_id"] === undefined ? undefined : openSession(params["session_id"], context);
}

/**
 * Creates a session, or names that of the socket. With `tool_calls_are_steps` the tool calls of agents in it are steps
 * from now on.
 */
async function createSession(params: JsonObject, context: RpcContext): Promise<object> {
  const { own, sessions, runtime, orchestrator = false } = context;
  const { tool_calls_are_steps: chosen = false } = params;
  if (typeof chosen !== "boolean") {
    throw new RpcError(RPC_ERRORS.invalidParams, 'Invalid params: "tool_calls_are_steps" must be true or false');
  }
  if (chosen && (own?.isForbidden(orchestrator) ?? (runtime.guarded && !orchestrator)))
    throw forbiddenTo("be stepped in");
  if (own !== undefined) sessions?.named.add(own);
  const session = own ?? (await sessions?.openNamed(openerOf(params, context)));
  if (session === undefined) throw new RpcError(RPC_ERRORS.methodNotFound, "This server cannot create sessions");
  if (chosen) {
    session.progress.callsAreSteps = true;
    await session.events.hooks?.chooseSteps?.();
  }
  const { callsAreSteps } = session.progress;
  return { session_id: session.id, ...(callsAreSteps && { tool_calls_are_steps: true }) };
}

function openerOf(params: JsonObject, context: RpcContext): SessionOpener {
  const { orchestrator = false, principal } = context;
  return { client: "mcp", orchestrator, principal, traceparent: metaTrace(params, context) };
}

/** The trace context of a request: that of MCP is in `_meta`. */
export function metaTrace(
  { _meta }: JsonObject,
  { traceparent }: { traceparent?: string | undefined },
): string | undefined {
  const own = isObject(_meta) ? _meta["traceparent"] : undefined;
  return typeof own === "string" ? own : traceparent;
}

/** The result of the session's episode so far, for its creator. */
function readEpisode(params: JsonObject, context: RpcContext): EpisodeBody {
  const session = sessionOf(params, context);
  if (session === undefined) throw new RpcError(RPC_ERRORS.invalidParams, "Invalid params: session_id is required");
  if (session.isForbidden(context.orchestrator)) throw forbiddenTo("be read");
  const { episodeId, stepCount, reward, done, failedSteps } = session.progress;
  return { episode_id: episodeId, step_count: stepCount, reward, done, failed_steps: failedSteps };
}

function forbiddenTo(what: string): RpcError {
  const message = `The episode can only ${what} with OPENENV_ORCHESTRATOR_TOKEN as bearer token`;
  return new RpcError(RPC_ERRORS.server, message, { code: "FORBIDDEN", fault: "client" });
}

function closeSession(id: unknown, context: RpcContext): object {
  if (id === undefined) throw new RpcError(RPC_ERRORS.invalidParams, "Invalid params: session_id is required");
  if (context.attach === undefined && context.own !== undefined && id === context.own.id) {
    throw new RpcError(
      RPC_ERRORS.invalidRequest,
      "The session of a socket ends with the socket: close the socket instead",
    );
  }
  const session = openSession(id, context);
  const { orchestrator = false, sessions, attach, runtime } = context;
  const isReserved = session.ownedByOrchestrator && !orchestrator;
  if (isReserved || (attach !== undefined && runtime.mode === "production" && !orchestrator)) {
    throw new RpcError(RPC_ERRORS.server, OF_ORCHESTRATOR, { code: "FORBIDDEN", fault: "client" });
  }
  const closed = sessions?.release(session, "closed by its client");
  return closed ? { session_id: id, closed } : { session_id: id, closed: false, closing: true };
}

function openSession(id: unknown, { sessions }: RpcContext): Session {
  const session = typeof id === "string" ? sessions?.named.find(id) : undefined;
  if (session === undefined) throw unknownSession(id);
  return session;
}

/** It has ended, such as with its process, or never existed: the server does not know which. */
function unknownSession(id: unknown): RpcError {
  return new RpcError(RPC_ERRORS.invalidParams, `Unknown session_id: ${show(id)}`, { fault: "infrastructure" });
}

/** Does not use String(), because an object can have its own toString. */
function show(id: unknown): string {
  return clip(JSON.stringify(briefInput(id)), MAX_ECHO);
}

function asRpcError(error: unknown, runtime: Runtime): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof SessionRejectedError) {
    runtime.statistics.countError(error.data);
    return rejectionToRpc(error);
  }
  runtime.log.error({ err: error, fault: "infrastructure" }, "a JSON-RPC method failed");
  runtime.statistics.countError(internalError());
  return new RpcError(RPC_ERRORS.internal, "Internal error");
}
