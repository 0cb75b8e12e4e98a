import type { SessionQuery } from "../protocol/session-query.js";
import type { ServerAbout, WorkerLoad } from "../session/registry/cluster.js";

/** What is left of an upgrade request when its socket goes to another process. */
export interface UpgradeEnvelope {
  url: string;
  headers: Record<string, string | string[] | undefined>;
  /** Bytes that came after the request, base64. */
  head: string;
  /** Worker that the named session lives on. */
  owner?: number;
  /** Workers that had no room. */
  tried: number[];
}

/** One worker as the others know it. */
export interface ClusterPeer {
  number: number;
  load: WorkerLoad;
  /** Takes nothing new; what names one of its sessions still goes there. */
  retiring: boolean;
}

/**
 * What a worker is asked: `sessions` is answered with SessionInfo[], `report` with WorkerReport, of all ClusterReport;
 * `pause` when it is done.
 */
export type WorkerRequest =
  | { what: "sessions" }
  | { what: "report"; query: SessionQuery }
  | { what: "pause"; paused: boolean };

export type WorkerMessage =
  /** From now on it gets what it is told. It asks for the port after that, and so gets it after what it has to know. */
  | { type: "listening" }
  | { type: "ready"; about: ServerAbout }
  /** It cannot serve; `isConfig`: for a wrong setting or file. */
  | { type: "failed"; message: string; isConfig: boolean }
  /** Also the answer to a ping. `inUse`: sessions that a server that drains waits for. `taken`: sockets that this worker has been given for a new session, by which those on their way count. */
  | { type: "load"; load: WorkerLoad; inUse: number; taken: number }
  | { type: "upgrade"; envelope: UpgradeEnvelope }
  | { type: "request"; id: number; about: WorkerRequest }
  | { type: "reply"; id: number; answer: unknown };

export type SupervisorMessage =
  /** Asks for a sign of life. */
  | { type: "ping" }
  | { type: "peers"; peers: ClusterPeer[] }
  /** `last` says that no other worker has room: take it or refuse it. */
  | { type: "upgrade"; envelope: UpgradeEnvelope; last: boolean; peers: ClusterPeer[] }
  | { type: "request"; id: number; about: WorkerRequest }
  | { type: "reply"; id: number; answer: unknown }
  | { type: "retire"; limitMs: number }
  | { type: "drain" }
  | { type: "reread-tokens" }
  | { type: "stop" };

/** Whether a socket that is given to a worker will be one more session there, not a refusal or a second peer of one. */
export function opensSession({ envelope, last }: Extract<SupervisorMessage, { type: "upgrade" }>): boolean {
  return envelope.owner === undefined && !last;
}

/** The environment variables by which a supervisor tells a process that it is a worker, and which. */
export const WORKER_NUMBER = "OPENENV_WORKER_NUMBER";
/** The port that all workers listen on, whatever the program asked for: it may have asked for any free one. */
export const WORKER_PORT = "OPENENV_WORKER_PORT";
/** Folder of the local sockets by which workers forward requests to one another. */
export const WORKER_SOCKETS = "OPENENV_WORKER_SOCKETS";

export function socketPath(folder: string, number: number): string {
  return `${folder}/w${number}.sock`;
}
