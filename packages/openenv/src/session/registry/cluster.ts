import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { SchemaBody, SessionInfo } from "../../protocol/http.js";
import type { SessionQuery } from "../../protocol/session-query.js";
import type { ClusterReport, WorkerReport } from "../statistics/worker-report.js";

/** How full one server is. */
export interface WorkerLoad {
  /** Sessions that are open. */
  active: number;
  /** Of these, those that may end now to make room: their clients have not used them yet, or not for a long time. */
  unclaimed: number;
  max: number;
  /** Peers that wait for a session. */
  waiting: number;
  /** Peers that may wait at most. */
  queueSize: number;
}

/** What a server says about itself to the supervisor, which does not load the environment. */
export interface ServerAbout {
  name: string;
  version: string;
  schemas: SchemaBody;
  /** There is a page at `/web/`. */
  webInterface: boolean;
}

/** What the others of a cluster use of a server. */
export interface ClusterServer {
  readonly about: ServerAbout;
  load(): WorkerLoad;
  list(): SessionInfo[];
  /** With the sessions of the query. */
  report(query: SessionQuery): Promise<WorkerReport>;
  /** Takes an upgrade that another one passed on; it is not passed on again, but refused when there is no room. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Answers a request that another one forwarded; it is not forwarded again. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Sessions that are used or waited for. */
  inUse(): number;
  /** Says that it wants no more sessions, and goes on. */
  drain(): void;
  /** Takes no more connections, and closes when its last session has ended, or the time is up. */
  retire(limitMs: number): Promise<void>;
  pause(paused: boolean): void;
  /** Reads the tokens again that are in files. */
  rereadTokens(): void;
  close(): Promise<void>;
}

export interface ForwardedRequest {
  request: IncomingMessage;
  response: ServerResponse;
  body: string;
  /** It names a session that lives there; otherwise it goes there for the room. */
  named: boolean;
}

/** Several servers behind one address, as one of them sees it. A lone server has none. */
export interface Cluster {
  /** Stands before the ids of this one's sessions, so that the others know whose they are. */
  readonly idPrefix: string;
  /** Which of them this one is. */
  readonly number: number;
  /** Listens on the shared port of the host; resolves with the port. */
  listen(server: Server, host: string): Promise<number>;
  /** Called once, when the server listens. */
  join(server: ClusterServer): Promise<void>;
  /** The load of one has changed. */
  changed(): void;
  /** How full each of them is. */
  loads(): WorkerLoad[];
  /** The sessions of all together. */
  sessions(): Promise<SessionInfo[]>;
  /** Stops all from opening sessions, or lets them again; also those that are started later. */
  pause(paused: boolean): Promise<void>;
  /** The reports of all, each with the sessions of the query, and those that do not answer. */
  reports(query: SessionQuery): Promise<ClusterReport>;
  /** The other one that a named session lives on; undefined when it is this one's or nobody's. */
  ownerOf(sessionId: string): number | undefined;
  /** Another one that has room for a session when this one has none. */
  withRoom(): number | undefined;
  /** Whether a socket's new session is better opened elsewhere. */
  shouldHandOff(): boolean;
  /** Gives the socket away: to the owner, or to whoever has most room. */
  handOff(upgrade: { request: IncomingMessage; socket: Duplex; head: Buffer }, owner?: number): void;
  /** Has another one answer the request, whose body has been read. */
  forward(owner: number, request: ForwardedRequest): void;
}
