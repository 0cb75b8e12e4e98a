import { briefInput } from "../env/brief-input.js";
import {
  parseRpcRequest,
  RPC_ERRORS,
  RpcError,
  type RpcRequest,
  type RpcResponse,
  rpcFailure,
  rpcIdOf,
} from "../protocol/jsonrpc.js";
import { clip } from "../util/clip.js";
import { isObject } from "../util/is-object.js";
import { Refusal } from "./refusal.js";
import { tellUnsendable, writeReply } from "./reply.js";
import type { Runtime } from "./runtime.js";
import type { Session } from "./session.js";
import type { Sessions } from "./sessions.js";

const MAX_ECHO = 100;

/** Where a request came in. `own` is the session of the socket; over HTTP a session is named in `params`. */
export interface RpcContext {
  runtime: Runtime;
  sessions: Sessions | undefined;
  own?: Session;
}

/** Answers one JSON-RPC request of `/mcp` or of an `mcp` frame. Never rejects. */
export async function answerRpc(value: unknown, context: RpcContext): Promise<RpcResponse> {
  try {
    if (!isObject(value)) throw new RpcError(RPC_ERRORS.parse, "Parse error: a request is one JSON object");
    const request = parseRpcRequest(value);
    return { jsonrpc: "2.0", id: request.id, result: await callMethod(request, context) };
  } catch (error) {
    return rpcFailure(rpcIdOf(value), asRpcError(error, context.runtime));
  }
}

/** The text of a response; a result that cannot be written is an internal error of the same request. */
export function renderRpc(response: RpcResponse, maxBytes: number): string {
  try {
    return writeReply(response, maxBytes);
  } catch (error) {
    return JSON.stringify(rpcFailure(response.id, new RpcError(RPC_ERRORS.internal, tellUnsendable(error))));
  }
}

/** What a refused session means in JSON-RPC. */
export function refusalToRpc(refusal: Refusal): RpcError {
  const { active_sessions, max_sessions, factory_name, code } = refusal.data;
  const data = code === "FACTORY_ERROR" ? { factory_name } : { active_sessions, max_sessions };
  return new RpcError(RPC_ERRORS.server, refusal.message, data);
}

async function callMethod({ method, params }: RpcRequest, context: RpcContext): Promise<unknown> {
  switch (method) {
    case "openenv/session/create":
      return { session_id: await createSession(context) };
    case "openenv/session/close":
      return closeSession(params["session_id"], context);
    case "tools/list":
    case "tools/call":
      if (context.own === undefined && params["session_id"] !== undefined) findSession(params["session_id"], context);
      throw new RpcError(RPC_ERRORS.internal, "Environment does not support MCP");
    default:
      throw new RpcError(RPC_ERRORS.methodNotFound, `Method not found: ${clip(method, MAX_ECHO)}`);
  }
}

async function createSession({ own, sessions }: RpcContext): Promise<string> {
  if (own !== undefined) {
    sessions?.publish(own);
    return own.id;
  }
  if (sessions === undefined) throw new RpcError(RPC_ERRORS.methodNotFound, "Sessions cannot be created here");
  return (await sessions.openNamed()).id;
}

function closeSession(id: unknown, context: RpcContext): object {
  if (id === undefined) throw new RpcError(RPC_ERRORS.invalidParams, "Invalid params: session_id is required");
  if (context.own !== undefined && id === context.own.id) {
    throw new RpcError(
      RPC_ERRORS.invalidRequest,
      "The session of this socket ends with the socket: close that instead",
    );
  }
  const session = findSession(id, context);
  if (session.attached) {
    session.closeOnDetach = true;
    return { session_id: id, closed: false, closing: true };
  }
  context.sessions?.end(session, "closed by its holder");
  return { session_id: id, closed: true };
}

function findSession(id: unknown, { sessions }: RpcContext): Session {
  const session = typeof id === "string" ? sessions?.find(id) : undefined;
  if (session === undefined) throw new RpcError(RPC_ERRORS.invalidParams, `Unknown session_id: ${show(id)}`);
  return session;
}

/** Never by String(): an object can bring a toString of its own. */
function show(id: unknown): string {
  return clip(JSON.stringify(briefInput(id)), MAX_ECHO);
}

function asRpcError(error: unknown, runtime: Runtime): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof Refusal) return refusalToRpc(error);
  runtime.log.error({ err: error }, "a JSON-RPC method failed");
  return new RpcError(RPC_ERRORS.internal, "Internal error");
}
