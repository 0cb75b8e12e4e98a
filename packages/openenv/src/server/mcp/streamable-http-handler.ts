import {
  classifyInboundRequest,
  createMcpHandler,
  isInitializeRequest,
  type McpHttpHandler,
  type Server,
} from "@modelcontextprotocol/server";
import type { HttpRequest, HttpResponse } from "#parts/sockets";
import { parseJson } from "../../protocol/codec/json.js";
import { RPC_ERRORS, RpcError, rpcFailure, rpcIdOf } from "../../protocol/jsonrpc.js";
import { listAgentTools } from "../../session/agents/agent-call.js";
import type { SessionOpener, SessionPeer } from "../../session/attachable-session.js";
import { OF_ORCHESTRATOR, rejectionToRpc } from "../../session/doors/rpc.js";
import type { Session } from "../../session/session.js";
import { SessionRejectedError } from "../../session/session-rejected-error.js";
import { isObject } from "../../util/is-object.js";
import type { ServerContext } from "../context.js";
import { attachAddress, markSession, openerOf, requireSession } from "../http/http-session.js";
import { passToRoom } from "../http/pass-on.js";
import { sendJson } from "../http/respond.js";
import type { RequestContext } from "../http/router.js";
import { readId } from "../http/session-key.js";
import { acceptsEvents } from "./event-stream.js";
import { answerWith } from "./fetch-adapter.js";
import { McpPeer } from "./peer.js";
import { renderServer } from "./render-server.js";

/** MCP's code for an unknown session. */
const SESSION_NOT_FOUND = -32001;

interface Parsed extends RequestContext {
  value: unknown;
}

/**
 * MCP at `/mcp`, in both revisions: with sessions, each an environment session; and without, where each request has a
 * new environment or names a session. Loaded with the first client, because the SDK is slow to load.
 */
export class StreamableHttpHandler {
  readonly #context: ServerContext;
  readonly #sessionless: McpHttpHandler;
  /** The contexts of the requests without a session that are being answered. */
  readonly #requests = new WeakMap<Request, RequestContext>();
  readonly #peers = new Set<McpPeer>();
  /** Notification streams of clients without a session. */
  readonly #listening = new Set<HttpResponse>();

  constructor(context: ServerContext) {
    this.#context = context;
    context.streams.add(this);
    const onerror = (error: Error): void => context.runtime.log.debug({ err: error }, "an MCP request failed");
    this.#sessionless = createMcpHandler(({ requestInfo }) => this.#serveAlone(requestInfo as Request), {
      legacy: "reject",
      onerror,
      maxSubscriptions: MAX_LISTENING,
    });
  }

  /** @param body of a POST request. */
  async handle(ctx: RequestContext, body?: string): Promise<void> {
    let value: unknown;
    try {
      value = body === undefined ? undefined : parse(body, this.#context.runtime.maxMessageItems);
      const isNew = this.#isNew(ctx, value);
      const id = ctx.request.headers["mcp-session-id"];
      if (!isNew && typeof id === "string") await attachAddress(ctx, "find", id);
      if (isNew && value !== undefined && !(await this.#hasTools(ctx))) {
        throw new RpcError(RPC_ERRORS.internal, "Environment does not support MCP: it declares no tools", {
          fault: "client",
        });
      }
      const kind = isNew ? kindOf(ctx.request, value) : "legacy";
      const isFirst = isNew && kind === "legacy" && isInitializeRequest(value);
      if (isFirst || kind === "modern") await attachAddress(ctx, "open");
      if (kind !== "legacy") return await this.#answerAlone({ ...ctx, value });
      if (isFirst) return await this.#open({ ...ctx, value }, body);
      await this.#find(ctx, value).handle({ ...ctx, value });
    } catch (error) {
      reject({ ...ctx, value }, error);
    }
  }

  /** Ends idle streams. */
  drain(): void {
    for (const peer of this.#peers) peer.closeStream();
    for (const response of this.#listening) response.destroy();
  }

  /** True for a request without a session. A client that initializes again after its session was lost sends the old id. */
  #isNew({ request, context }: RequestContext, value: unknown): boolean {
    const id = request.headers["mcp-session-id"];
    if (typeof id !== "string") return true;
    return isInitialize(value) && !(context.sessions.named.find(id)?.peer instanceof McpPeer);
  }

  /** In a session whose tool calls are steps, also an environment without tools has one. */
  async #hasTools(ctx: RequestContext): Promise<boolean> {
    const { runtime, sessions } = this.#context;
    if (runtime.tools !== undefined) return true;
    await attachAddress(ctx, "find");
    const named = readId(ctx);
    return listAgentTools(runtime, named && sessions.named.find(named.id)) !== undefined;
  }

  /** One MCP session is one environment session: a new one, or the one that the header names. */
  async #open(ctx: Parsed, body = ""): Promise<void> {
    const { response, context } = ctx;
    const { sessions } = context;
    const opener = openerOf(ctx, "mcp");
    const ofOrchestrator = opener.orchestrator;
    const named = readId(ctx);
    const joined = named?.explicit ? requireSession(ctx, named) : undefined;
    if (joined === undefined && passToRoom(ctx, body)) return;
    if (!ofOrchestrator) keepOrchestrator(joined?.peer);
    const session = joined ?? (await this.#openSession(ctx, opener));
    const owned = joined === undefined;
    const leave = (): void => {
      this.#peers.delete(peer);
      if (session.leave(peer) && owned) sessions.release(session, "closed by its MCP client");
    };
    const server = renderServer(session.runtime, session);
    const peer = new McpPeer({ session, owned, ownedByOrchestrator: ofOrchestrator, server, onClosed: leave });
    // A client that joins a session replaces its current client, which may be gone without having closed.
    session.join(peer)?.end();
    this.#peers.add(peer);
    let isIn = false;
    try {
      await peer.connect();
      await peer.handle(ctx);
      isIn = peer.initialised && (response.writableFinished || !response.closed);
    } finally {
      if (!isIn) await peer.close();
    }
  }

  async #openSession({ response, context: { sessions } }: RequestContext, opener: SessionOpener): Promise<Session> {
    const leave = (): void => sessions.leave(response);
    response.once("close", leave);
    const session = await sessions.open(response, opener);
    response.removeListener("close", leave);
    sessions.named.add(session);
    return session;
  }

  /** @throws RpcError when the session has ended, so that the client starts a new one. */
  #find({ request, context }: RequestContext, value: unknown): McpPeer {
    const id = request.headers["mcp-session-id"];
    if (typeof id !== "string") {
      if (isInitialize(value)) {
        const wanted = "protocolVersion, capabilities and clientInfo {name, version}";
        throw new HttpError(
          400,
          RPC_ERRORS.invalidParams,
          `Invalid params: initialize needs an id, and in params ${wanted}`,
        );
      }
      throw new HttpError(400, RPC_ERRORS.server, "Bad Request: initialize first, then send its Mcp-Session-Id header");
    }
    const peer = context.sessions.named.find(id)?.peer;
    if (peer instanceof McpPeer) {
      if (request.method === "DELETE" && !context.authorization.isOrchestrator(request.headers)) keepOrchestrator(peer);
      return peer;
    }
    throw new HttpError(404, SESSION_NOT_FOUND, "Session not found: it has ended; initialize a new session");
  }

  async #answerAlone(ctx: Parsed): Promise<void> {
    const { response, value } = ctx;
    const named = readId(ctx);
    const session = named === undefined ? null : requireSession(ctx, named);
    markSession(ctx, session);
    if (isObject(value) && value["method"] === "subscriptions/listen") {
      this.#listening.add(response);
      response.once("close", () => this.#listening.delete(response));
    }
    await answerWith((webRequest, options) => {
      this.#requests.set(webRequest, ctx);
      return this.#sessionless.fetch(webRequest, options);
    }, ctx);
  }

  /** Creates the server of one request, in the session that it names or in a new environment. */
  #serveAlone(webRequest: Request): Server {
    const ctx = this.#requests.get(webRequest) as RequestContext;
    const named = readId(ctx);
    const { sessions, runtime } = this.#context;
    const place = named === undefined ? { sessions, opener: openerOf(ctx, "mcp") } : requireSession(ctx, named);
    return renderServer(runtime, place, acceptsEvents(ctx.request.headers));
  }
}

/** The maximum number of open notification streams of clients without a session. */
const MAX_LISTENING = 256;

/** An error with its own HTTP status in MCP. */
class HttpError extends RpcError {
  readonly status: number;

  /** A 404 is for a session that has ended, the others are for requests that are not valid. */
  constructor(status: number, code: number, message: string) {
    super(code, message, { fault: status === 404 ? "infrastructure" : "client" });
    this.status = status;
  }
}

/** @throws HttpError (403) when an orchestrator is the session's client: others can neither end nor replace it. */
function keepOrchestrator(peer: SessionPeer | undefined): void {
  if (peer instanceof McpPeer && peer.ownedByOrchestrator) throw new HttpError(403, RPC_ERRORS.server, OF_ORCHESTRATOR);
}

function isInitialize(value: unknown): boolean {
  return isObject(value) && value["method"] === "initialize";
}

function parse(body: string, maxItems: number): unknown {
  try {
    return parseJson(body, maxItems);
  } catch (error) {
    throw new HttpError(400, RPC_ERRORS.parse, `Parse error: ${(error as Error).message}`);
  }
}

/** The revision of MCP of a request: `modern` has no sessions. The SDK says why it rejects one. */
function kindOf({ method = "GET", headers }: HttpRequest, body: unknown): "legacy" | "modern" | "reject" {
  const given = {
    protocolVersionHeader: headers["mcp-protocol-version"],
    mcpMethodHeader: headers["mcp-method"],
    mcpNameHeader: headers["mcp-name"],
  };
  const texts = Object.entries(given).filter(([, value]) => typeof value === "string");
  return classifyInboundRequest({ httpMethod: method, body, ...Object.fromEntries(texts) }).kind;
}

function reject({ response, value }: Parsed, error: unknown): void {
  const rpcError = error instanceof SessionRejectedError ? toRpc(error) : error;
  if (!(rpcError instanceof RpcError) || response.headersSent) throw error;
  const status = rpcError instanceof HttpError ? rpcError.status : 200;
  sendJson(response, status, rpcFailure(rpcIdOf(value), rpcError));
}

function toRpc(refusal: SessionRejectedError): RpcError {
  if (refusal.data.code === "SESSION_ERROR") return new HttpError(404, SESSION_NOT_FOUND, refusal.message);
  const { code, message, data } = rejectionToRpc(refusal);
  return new RpcError(code, message, { code: refusal.data.code, ...data });
}
