import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { UpgradeRequest } from "#parts/sockets";
import type { SchemaBody, SessionInfo } from "../protocol/http.js";
import type { SessionQuery } from "../protocol/session-query.js";
import type { WorkerLoad } from "../session/registry/capacity.js";
import type { Workers } from "../session/registry/options.js";
import type { CentralAnswer } from "./plugins/central.js";
import type { ClusterReport, WorkerReport } from "./worker-report.js";

/** What a server reports to the supervisor, which does not load the environment. */
export interface ServerAbout {
  name: string;
  version: string;
  schemas: SchemaBody;
  /** The server has a page at `/web/`. */
  webInterface: boolean;
}

/** The interface of a server for the other workers of its cluster. */
export interface ClusterServer {
  readonly about: ServerAbout;
  /** Counts sockets whose first message opens a session as active. */
  load(): WorkerLoad;
  list(): SessionInfo[];
  /** The worker's report, with the sessions that match the query. */
  report(query: SessionQuery): Promise<WorkerReport>;
  /** Handles an upgrade from another worker. Rejects it at capacity, without passing it on again. */
  upgrade(request: UpgradeRequest, socket: Duplex, head: Buffer): void;
  /** Handles a request from another worker, without forwarding it again. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** True when requests can name a session of it by this id. */
  hasSession(id: string): boolean;
  /** True when it has the session of an address, or knows that it was lost. */
  hasAddress(address: string): boolean;
  /** The session of an address was lost with another worker. */
  loseAddress(address: string): void;
  /** Number of sessions in use, and of peers waiting for one. */
  inUse(): number;
  /** Reports at `/readyz` that it wants no new sessions, but keeps running. */
  drain(): void;
  /** Accepts no more connections, and closes after its last session or after the time limit. */
  retire(limitMs: number): Promise<void>;
  pause(paused: boolean): void;
  /** Reads tokens from their files again. */
  rereadTokens(): void;
  close(): Promise<void>;
}

export interface ForwardedRequest {
  request: IncomingMessage;
  response: ServerResponse;
  body: string;
  /** The request names a session of the other worker; otherwise it is forwarded because that worker has capacity. */
  named: boolean;
}

/** The cluster from the point of view of one worker. A single server has none. */
export interface Cluster extends Workers {
  /** Prefix of this worker's session ids, so that the others can find the owner of a session. */
  readonly idPrefix: string;
  /** Listens on the shared port; resolves with the port. */
  listen(server: Server, host: string): Promise<number>;
  /** Called once when the server listens. */
  join(server: ClusterServer): Promise<void>;
  /** The sessions of all workers. */
  sessions(): Promise<SessionInfo[]>;
  /** Pauses or resumes opening sessions on all workers, including workers that start later. */
  pause(paused: boolean): Promise<void>;
  /** The reports of all workers with the sessions that match the query, and the workers that do not answer. */
  reports(query: SessionQuery): Promise<ClusterReport>;
  /** Sends a message to the central part of a plugin. */
  askCentral(plugin: string, message: unknown): Promise<CentralAnswer>;
  /** Another worker with capacity for a session when this worker has none. */
  withRoom(): number | undefined;
  /** True when another worker should open the session of a new socket. */
  shouldHandOff(): boolean;
  /** Passes the socket to the owner, or to the worker with the most capacity. */
  handOff(upgrade: { request: UpgradeRequest; socket: Duplex; head: Buffer }, owner?: number): void;
  /** Forwards the request, whose body has been read, to another worker. */
  forward(owner: number, request: ForwardedRequest): void;
}
