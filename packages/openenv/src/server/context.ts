import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerView } from "../protocol/web.js";
import type { Cluster } from "../session/registry/cluster.js";
import type { Sessions } from "../session/registry/sessions.js";
import type { Runtime } from "../session/runtime.js";
import type { Authorization } from "./access/authorization.js";
import type { Origins } from "./access/origins.js";
import type { Backlog, ByteBudget } from "./limits/backlog.js";
import type { Descriptors } from "./limits/descriptors.js";
import type { RunQueue } from "./limits/run-queue.js";
import type { Gauge } from "./metrics/gauge.js";

/** A request of a client of real MCP. */
export interface McpRequest {
  request: IncomingMessage;
  response: ServerResponse;
  /** Another server of the cluster sent it here. */
  forwarded: boolean;
  /** The text of a POST. */
  body?: string;
}

/** Where clients of real MCP come in. */
export interface McpEndpoint {
  handle(request: McpRequest): Promise<void>;
  /** Ends the streams that wait for nothing in particular. */
  drain(): void;
}

export interface WebSettings {
  /** Markdown. */
  readonly readme: string | null;
  /** `owner/name` on Hugging Face Spaces. */
  readonly spaceId: string | null;
}

/** What the transports of one server work with. */
export interface ServerContext {
  readonly runtime: Runtime;
  readonly sessions: Sessions;
  readonly origins: Origins;
  readonly authorization: Authorization;
  readonly maxMessageBytes: number;
  readonly pingIntervalMs: number;
  /** Shared by the HTTP bodies that are being read. */
  readonly bodies: ByteBudget;
  /** Shared by what waits on sockets: parts of messages, frames for their turn, answers for a slow reader. */
  readonly backlog: Backlog;
  /** Shared by what sockets and HTTP have to do in this turn of the event loop. */
  readonly runQueue: RunQueue;
  readonly descriptors: Descriptors;
  /** Name of the deployment that the server belongs to: a health check that names another one is refused. */
  readonly deployment?: string | undefined;
  /** What the web interface is told beside the environment; undefined when it is off. */
  readonly web: WebSettings | undefined;
  readonly limits: ServerView["limits"];
  readonly gauge: Gauge;
  /** WebSockets that are open. */
  openSockets(): number;
  /** The other servers behind the same address. */
  readonly cluster: Cluster | undefined;
  /** Loaded with the first client that speaks real MCP. */
  mcp?: Promise<McpEndpoint> | undefined;
  /** HTTP requests being answered. */
  requests: number;
  /** `/health` says that the server wants no more sessions; those it has go on. */
  draining: boolean;
  /** The server is on its way down: nothing new is taken. */
  closing: boolean;
}
