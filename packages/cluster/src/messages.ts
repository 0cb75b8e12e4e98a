import type { SessionQuery } from "#core/protocol/session-query.js";
import type { ServerAbout } from "#core/server/cluster.js";
import type { WorkerLoad } from "#core/session/registry/capacity.js";

/** The data of an upgrade request whose socket is sent to another process. */
export interface UpgradeEnvelope {
  url: string;
  headers: Record<string, string | string[] | undefined>;
  /** The bytes after the request, base64. */
  head: string;
  /** The worker of the named session. */
  owner?: number;
  /** The workers that had no room. */
  tried: number[];
}

/** One worker, as the others see it. */
export interface ClusterPeer {
  number: number;
  /** Includes the sockets that are on their way to it, of which there are `due`. */
  load: WorkerLoad;
  due: number;
  /** True when it accepts no new sessions; requests for its sessions still go to it. */
  retiring: boolean;
}

/**
 * A request to a worker. The answer to `sessions` is SessionInfo[], to `report` WorkerReport (of all workers
 * ClusterReport); `pause` is answered when it is done.
 */
export type WorkerRequest =
  | { what: "sessions" }
  | { what: "report"; query: SessionQuery }
  /** A worker answers with its number if it has the session. */
  | { what: "holder"; id: string }
  | { what: "pause"; paused: boolean }
  /** Asks the supervisor for the worker that has the session of an address, or is to open it: `asking` or another. */
  | { what: "owner"; address: string; asking: number; opens: boolean }
  /** Asks the central part of a plugin: the answer is a CentralAnswer. */
  | { what: "central"; plugin: string; message: unknown }
  /** Asks a worker if it has the session of an address, or reports that the session was lost with another worker. */
  | { what: "has" | "lost"; address: string };

export type WorkerMessage =
  /** It receives messages from now on. It requests the port after this, and gets it after its first messages. */
  | { type: "listening" }
  | { type: "ready"; about: ServerAbout }
  /** It cannot serve; `isConfig`: because of an invalid setting or file. */
  | { type: "failed"; message: string; isConfig: boolean }
  /**
   * The load, also as the answer to a ping. `inUse`: sessions that a drain waits for. `taken`: sockets for new sessions
   * that the worker has received; the supervisor counts those that are still on their way.
   */
  | { type: "load"; load: WorkerLoad; inUse: number; taken: number }
  | { type: "upgrade"; envelope: UpgradeEnvelope }
  | { type: "request"; id: number; about: WorkerRequest }
  | { type: "reply"; id: number; answer: unknown };

export type SupervisorMessage =
  /** Requests a sign of life. */
  | { type: "ping" }
  | { type: "peers"; peers: ClusterPeer[] }
  /** With `last`, no other worker has room: the worker must accept or reject it. */
  | { type: "upgrade"; envelope: UpgradeEnvelope; last: boolean; peers: ClusterPeer[] }
  | { type: "request"; id: number; about: WorkerRequest }
  | { type: "reply"; id: number; answer: unknown }
  | { type: "retire"; limitMs: number }
  | { type: "drain" }
  | { type: "reread-tokens" }
  | { type: "stop" };

/** True when a socket that is sent to a worker opens a new session there, or waits for one. */
export function opensSession({ envelope }: Extract<SupervisorMessage, { type: "upgrade" }>): boolean {
  return envelope.owner === undefined;
}

/** The environment variable by which a supervisor gives a worker its number. */
export const WORKER_NUMBER = "OPENENV_WORKER_NUMBER";
/** The port that all workers listen on. The program may have requested any free port. */
export const WORKER_PORT = "OPENENV_WORKER_PORT";
/** The folder of the local sockets on which workers forward requests to one another. */
export const WORKER_SOCKETS = "OPENENV_WORKER_SOCKETS";

export function socketPath(folder: string, number: number): string {
  return `${folder}/w${number}.sock`;
}
