import type { ServerResponse } from "node:http";
import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { SessionPeer } from "../../session/held-session.js";
import type { Session } from "../../session/session.js";
import { answerWith, type IncomingRequest } from "./fetch-adapter.js";

export interface McpPeerParts {
  session: Session;
  /** The session was opened for this client and ends with it. */
  owned: boolean;
  /** The client carries the orchestrator's token: others neither end nor replace it. */
  ownedByOrchestrator: boolean;
  server: Server;
  /** The client has deleted its MCP session, or was never let in. */
  onClosed(): void;
}

/** A client of real MCP, for as long as its session lives. The id of the MCP session is that of the environment session. */
export class McpPeer implements SessionPeer {
  readonly #parts: McpPeerParts;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  #streams = 0;
  #requests = 0;

  constructor(parts: McpPeerParts) {
    this.#parts = parts;
    const { session, server } = parts;
    this.#transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => session.id });
    const { log } = session.runtime;
    server.onerror = (error) => log.debug({ err: error, session: session.id }, "an MCP client made a mistake");
    server.onclose = parts.onClosed;
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

  /** The client was let in. */
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
    await answerWith((asked, options) => this.#transport.handleRequest(asked, options), incoming);
  }

  /** Ends the stream that waits for news. */
  closeStream(): void {
    this.#transport.closeStandaloneSSEStream();
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  end(): void {
    void this.close();
  }

  #watch(response: ServerResponse): void {
    const { session } = this.#parts;
    this.#streams++;
    response.once("close", () => {
      this.#streams--;
      session.touch();
    });
  }
}
