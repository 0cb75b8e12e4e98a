import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { HttpResponse } from "#parts/sockets";
import { RPC_ERRORS, RpcError, rpcFailure } from "../../protocol/jsonrpc.js";
import { callAgentTool } from "../../session/agents/agent-call.js";
import type { SessionPeer } from "../../session/attachable-session.js";
import type { Session } from "../../session/session.js";
import { after } from "../../util/async/after.js";
import { isThenable } from "../../util/async/thenable.js";
import { isObject } from "../../util/is-object.js";
import { sendText } from "../http/respond.js";
import {
  acceptsEvents,
  acceptsOnlyEvents,
  type EndStream,
  EVENT_HEADERS,
  renderEvent,
  streamProgress,
} from "./event-stream.js";
import { answerWith, type IncomingRequest } from "./fetch-adapter.js";
import { type DirectCall, readDirectCall, renderCall } from "./tool-call.js";

export interface McpPeerParts {
  session: Session;
  /** True when the session was opened for this client and ends with it. */
  owned: boolean;
  /** True when the client has the orchestrator's token: other clients can neither end nor replace it. */
  ownedByOrchestrator: boolean;
  server: Server;
  /** Called when the client has deleted its MCP session, or failed to initialize. */
  onClosed(): void;
}

const LOST = new RpcError(RPC_ERRORS.server, "The session ended before its call was answered");

/** An MCP client with a session. The MCP session and the environment session have the same id. */
export class McpPeer implements SessionPeer {
  readonly #parts: McpPeerParts;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  readonly #calls = new Set<HttpResponse>();
  /** Functions that cancel calls that run without the SDK, by the id of their request. */
  readonly #running = new Map<unknown, () => void>();
  /** Calls whose answers have begun as streams, by the id of their request. */
  readonly #streaming = new Map<string | number, EndStream>();
  #streams = 0;
  #requests = 0;

  constructor(parts: McpPeerParts) {
    this.#parts = parts;
    const { session, server } = parts;
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => session.id,
      // Clients in Python wait forever, or tell the model a result, when a stream of events ends without its answer.
      enableJsonResponse: true,
    });
    const { log } = session.runtime;
    server.onerror = (error) => log.debug({ err: error, session: session.id }, "error in a request of an MCP client");
    server.onclose = () => {
      parts.onClosed();
      for (const [id, end] of this.#streaming) end(JSON.stringify(rpcFailure(id, LOST)));
      for (const response of this.#calls) if (!response.headersSent) response.destroy();
    };
  }

  get ownedByOrchestrator(): boolean {
    return this.#parts.ownedByOrchestrator;
  }

  get connected(): boolean {
    return this.#streams > 0;
  }

  get silent(): boolean {
    return this.#parts.owned && this.#requests < 2;
  }

  /** True once the client has initialized. */
  get initialised(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  connect(): Promise<void> {
    return this.#parts.server.connect(this.#transport);
  }

  async handle(incoming: IncomingRequest): Promise<void> {
    const { request, response } = incoming;
    this.#requests++;
    if (request.method === "GET") this.#watch(response);
    if (request.method === "POST") this.#expectAnswer(response);
    const call = this.initialised ? readDirectCall(incoming) : undefined;
    if (call !== undefined) return this.#answerCall(incoming, call);
    this.#cancel(incoming.value);
    await answerWith((webRequest, options) => this.#transport.handleRequest(webRequest, options), incoming);
  }

  /** Ends the stream of notifications. */
  closeStream(): void {
    this.#transport.closeStandaloneSSEStream();
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  end(): void {
    void this.close();
  }

  #answerCall({ request: { headers }, response }: IncomingRequest, call: DirectCall): void | Promise<void> {
    const { session } = this.#parts;
    const { id, request, progressToken, traceparent } = call;
    const named = { "mcp-session-id": session.id };
    let stream: EndStream | undefined;
    const onDisconnect = (cancel: () => void): void => void response.once("close", cancel);
    const onCancel = (cancel: () => void): void => {
      this.#running.set(id, () => {
        this.#running.delete(id);
        cancel();
        if (stream !== undefined) return stream();
        // MCP has no answer to a cancelled request; without one its connection could not be used again.
        response.writeHead(202, { "content-length": 0 }).end();
      });
    };
    const answering = callAgentTool(session, request, { onDisconnect, onCancel, traceparent });
    if (progressToken !== undefined && isThenable(answering) && acceptsEvents(headers)) {
      stream = streamProgress(response, progressToken, named);
      this.#streaming.set(id, stream);
      response.once("close", () => this.#streaming.delete(id));
    }
    return after(answering, (outcome) => {
      this.#running.delete(id);
      if (response.destroyed || (stream === undefined && response.headersSent)) return;
      const json = renderCall(id, outcome, session.runtime.maxAnswerBytes);
      if (stream !== undefined) return stream(json);
      if (!acceptsOnlyEvents(headers)) {
        return sendText(response, 200, { type: "application/json", text: json, headers: named });
      }
      response.writeHead(200, { ...EVENT_HEADERS, ...named }).end(renderEvent(json));
    });
  }

  #cancel(message: unknown): void {
    if (!isObject(message) || message["method"] !== "notifications/cancelled" || !isObject(message["params"])) return;
    this.#running.get(message["params"]["requestId"])?.();
  }

  #expectAnswer(response: HttpResponse): void {
    this.#calls.add(response);
    response.once("close", () => this.#calls.delete(response));
  }

  #watch(response: HttpResponse): void {
    const { session } = this.#parts;
    this.#streams++;
    response.once("close", () => {
      this.#streams--;
      session.touch();
    });
  }
}
