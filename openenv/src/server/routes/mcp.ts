import type { IncomingHttpHeaders } from "node:http";
import { parseJson } from "../../protocol/codec/json.js";
import { SESSION_HEADER } from "../../protocol/http.js";
import { RPC_ERRORS, RpcError, type RpcResponse, rpcFailure } from "../../protocol/jsonrpc.js";
import { answerRpc, renderRpc } from "../../session/messages/rpc.js";
import { isObject } from "../../util/is-object.js";
import type { McpDoor, ServerContext } from "../context.js";
import { readBody } from "../http/body.js";
import { namedSession } from "../http/http-session.js";
import { inTurn } from "../http/pipeline.js";
import { sendStatus, sendText } from "../http/respond.js";
import type { Exchange, Route } from "../http/router.js";
import { forwardToRoom } from "./control.js";

/**
 * Two kinds of client at one address, told apart by what a client of real MCP has to send: it accepts event streams, or
 * names its session or its revision of the protocol. All others are answered as the reference does.
 */
export const MCP_ROUTES: Record<string, Route> = { "/mcp": { POST: post, GET: listen, DELETE: end } };

async function post(exchange: Exchange): Promise<void> {
  const bytes = await readBody(exchange);
  if (!speaksMcp(exchange.request.headers)) return inTurn(exchange, () => answerPlainly(exchange, bytes.toString()));
  if (forwardToOwner(exchange, mcpSession(exchange), bytes)) return;
  const door = await doorOf(exchange.context);
  await inTurn(exchange, () => door.handle({ ...pick(exchange), body: bytes.toString() }));
}

async function answerPlainly(exchange: Exchange, body: string): Promise<void> {
  const { request, response, context } = exchange;
  const { runtime, sessions } = context;
  let value: unknown;
  try {
    value = parseJson(body, runtime.maxMessageItems);
  } catch (error) {
    const problem = new RpcError(RPC_ERRORS.parse, `Parse error: ${(error as Error).message}`);
    return sendRpc(exchange, rpcFailure(null, problem));
  }
  if (forwardToOwner(exchange, sessionOf(value), body)) return;
  if (createsSession(value) && forwardToRoom(exchange, body)) return;
  const orchestrator = context.rights.isOrchestrator(request.headers);
  const whenGone = (giveUp: () => void): void => void response.once("close", giveUp);
  const answer = await answerRpc(value, { runtime, sessions, orchestrator, whenGone });
  // For balancers, which read headers.
  const created = createsSession(value) && "result" in answer ? sessionOf({ params: answer.result }) : "";
  if (created !== "") response.setHeader(SESSION_HEADER, created);
  sendRpc(exchange, answer);
}

/** Status 200 always, and the content type of the request is not looked at. */
function sendRpc({ response, context }: Exchange, answer: RpcResponse): void {
  const text = renderRpc(answer, context.runtime.maxAnswerBytes);
  sendText(response, 200, { type: "application/json", text });
}

/** The stream of what a session has to tell. */
async function listen(exchange: Exchange): Promise<void> {
  if (!acceptsEvents(exchange.request.headers)) return sendStatus(exchange.response, 405, "POST");
  await handleInSession(exchange);
}

async function end(exchange: Exchange): Promise<void> {
  if (exchange.request.headers["mcp-session-id"] === undefined) return sendStatus(exchange.response, 405, "POST");
  await handleInSession(exchange);
}

async function handleInSession(exchange: Exchange): Promise<void> {
  if (forwardToOwner(exchange, mcpSession(exchange), "")) return;
  await (await doorOf(exchange.context)).handle(pick(exchange));
}

function speaksMcp(headers: IncomingHttpHeaders): boolean {
  return "mcp-session-id" in headers || "mcp-protocol-version" in headers || acceptsEvents(headers);
}

function acceptsEvents({ accept = "" }: IncomingHttpHeaders): boolean {
  return accept.includes("text/event-stream");
}

/** The SDK comes with the first client that needs it. A failure is not kept: the next one tries again. */
function doorOf(context: ServerContext): Promise<McpDoor> {
  context.mcp ??= import("../mcp/gateway.js")
    .then(({ McpGateway }) => new McpGateway(context))
    .catch((error: unknown) => {
      context.mcp = undefined;
      throw error;
    });
  return context.mcp;
}

function pick({ request, response, forwarded }: Exchange): Pick<Exchange, "request" | "response" | "forwarded"> {
  return { request, response, forwarded };
}

/** True when another server of the fleet has the session and answers. */
function forwardToOwner({ request, response, context }: Exchange, session: string, body: string | Buffer): boolean {
  const owner = session === "" ? undefined : context.fleet?.ownerOf(session);
  if (owner === undefined) return false;
  context.fleet?.forward(owner, { request, response, body: body.toString(), named: true });
  return true;
}

/** The session that a client of real MCP names, in MCP's way or in ours; empty for none. */
function mcpSession(exchange: Exchange): string {
  const id = exchange.request.headers["mcp-session-id"];
  return typeof id === "string" ? id : (namedSession(exchange)?.id ?? "");
}

/** A plain request for a new session, which any server of the fleet can open. */
function createsSession(value: unknown): boolean {
  return isObject(value) && value["method"] === "openenv/session/create";
}

/** The session that a plain request names; empty for none. */
function sessionOf(value: unknown): string {
  const params = isObject(value) ? value["params"] : undefined;
  const id = isObject(params) ? params["session_id"] : undefined;
  return typeof id === "string" ? id : "";
}
