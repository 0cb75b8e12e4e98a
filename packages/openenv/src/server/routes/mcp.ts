import type { IncomingHttpHeaders } from "node:http";
import { parseJson } from "../../protocol/codec/json.js";
import { SESSION_HEADER } from "../../protocol/http.js";
import { RPC_ERRORS, RpcError, type RpcResponse, rpcFailure } from "../../protocol/jsonrpc.js";
import { answerRpc, renderRpc } from "../../session/doors/rpc.js";
import type { AddressUse } from "../../session/registry/session-keeper.js";
import type { Session } from "../../session/session.js";
import { isThenable } from "../../util/async/thenable.js";
import { isObject } from "../../util/is-object.js";
import type { ServerContext } from "../context.js";
import { readBody } from "../http/body.js";
import { attachAddress, headerTrace } from "../http/http-session.js";
import { passToRoom, passToWorker } from "../http/pass-on.js";
import { sendStatus, sendText } from "../http/respond.js";
import type { RequestContext, Route } from "../http/router.js";
import { readMcpKey, readRpcKey } from "../http/session-key.js";
import { inTurn } from "../http/turn.js";
import { acceptsEvents } from "../mcp/event-stream.js";
import type { StreamableHttpHandler } from "../mcp/streamable-http-handler.js";

/**
 * Two kinds of client use one address. An MCP client accepts event streams, names its session or its revision of the
 * protocol, or initializes with a revision. All others are answered as the Python package answers them.
 */
export const MCP_ROUTES: Record<string, Route> = { "/mcp": { POST: post, GET: listen, DELETE: end } };

async function post(ctx: RequestContext): Promise<void> {
  const bytes = await readBody(ctx);
  if (!speaksMcp(ctx.request.headers)) return inTurn(ctx, () => answerPlainly(ctx, bytes.toString()));
  if (await passToWorker(ctx, readMcpKey(ctx), bytes)) return;
  const endpoint = await endpointOf(ctx.context);
  await inTurn(ctx, () => endpoint.handle(ctx, bytes.toString()));
}

async function answerPlainly(ctx: RequestContext, body: string): Promise<void> {
  const { request, response, context } = ctx;
  const { runtime, sessions } = context;
  let value: unknown;
  try {
    value = parseJson(body, runtime.maxMessageItems);
  } catch (error) {
    const problem = new RpcError(RPC_ERRORS.parse, `Parse error: ${(error as Error).message}`);
    return sendRpc(ctx, rpcFailure(null, problem));
  }
  if (initializesMcp(value)) {
    if (await passToWorker(ctx, readMcpKey(ctx), body)) return;
    return (await endpointOf(context)).handle(ctx, body);
  }
  const key = readRpcKey(value, ctx.address);
  if (context.cluster !== undefined && (await passToWorker(ctx, key, body))) return;
  if (ctx.address === undefined && createsSession(value) && passToRoom(ctx, body)) return;
  const orchestrator = context.authorization.isOrchestrator(request.headers);
  const onDisconnect = (cancel: () => void): void => void response.once("close", cancel);
  const attach = async (kind: AddressUse): Promise<Session | undefined> => {
    await attachAddress(ctx, kind, key.id);
    return ctx.address?.session;
  };
  const hasAddress = ctx.address !== undefined;
  // Spreads take longer than the call.
  const answering = answerRpc(value, {
    runtime,
    sessions,
    orchestrator,
    principal: ctx.principal,
    traceparent: headerTrace(ctx.request),
    onDisconnect: hasAddress ? undefined : onDisconnect,
    attach: hasAddress ? attach : undefined,
  });
  const answer = isThenable(answering) ? await answering : answering;
  // The header is for balancers, which read headers.
  const created = createsSession(value) && "result" in answer ? readRpcKey({ params: answer.result }).id : undefined;
  if (created !== undefined) response.setHeader(SESSION_HEADER, created);
  sendRpc(ctx, answer);
}

/** The status is always 200, and the content type of the request is ignored. */
function sendRpc({ response, context }: RequestContext, answer: RpcResponse): void {
  const text = renderRpc(answer, context.runtime.maxAnswerBytes);
  sendText(response, 200, { type: "application/json", text });
}

/** The event stream of a session. */
async function listen(ctx: RequestContext): Promise<void> {
  if (!acceptsEvents(ctx.request.headers)) return sendStatus(ctx.response, 405, "POST");
  await handleInSession(ctx);
}

async function end(ctx: RequestContext): Promise<void> {
  if (ctx.request.headers["mcp-session-id"] === undefined) return sendStatus(ctx.response, 405, "POST");
  await handleInSession(ctx);
}

async function handleInSession(ctx: RequestContext): Promise<void> {
  if (await passToWorker(ctx, readMcpKey(ctx), "")) return;
  await (await endpointOf(ctx.context)).handle(ctx);
}

function speaksMcp(headers: IncomingHttpHeaders): boolean {
  return "mcp-session-id" in headers || "mcp-protocol-version" in headers || acceptsEvents(headers);
}

const endpoints = new WeakMap<ServerContext, Promise<StreamableHttpHandler>>();

/** The first MCP client loads the SDK. If that fails, the next client tries again. */
function endpointOf(context: ServerContext): Promise<StreamableHttpHandler> {
  let endpoint = endpoints.get(context);
  if (endpoint === undefined) {
    endpoint = import("../mcp/streamable-http-handler.js").then((mcp) => new mcp.StreamableHttpHandler(context));
    endpoints.set(context, endpoint);
    endpoint.catch(() => endpoints.delete(context));
  }
  return endpoint;
}

/** Clients of the Python package initialize nothing, and an MCP client names its revision. */
function initializesMcp(value: unknown): boolean {
  if (!isObject(value) || value["method"] !== "initialize") return false;
  return isObject(value["params"]) && "protocolVersion" in value["params"];
}

/** A plain request for a new session, which any worker of the cluster can open. */
function createsSession(value: unknown): boolean {
  return isObject(value) && value["method"] === "openenv/session/create";
}
