import type { ByteBudget } from "./byte-budget.js";
import type { Descriptors } from "./descriptors.js";
import type { Fleet } from "./fleet.js";
import type { Origins } from "./origins.js";
import type { Rights } from "./rights.js";
import type { Runtime } from "./runtime.js";
import type { Sessions } from "./sessions.js";

/** What the transports of one server work with. */
export interface ServerContext {
  readonly runtime: Runtime;
  readonly sessions: Sessions;
  readonly origins: Origins;
  readonly rights: Rights;
  readonly maxMessageBytes: number;
  readonly pingIntervalMs: number;
  /** Shared by the HTTP bodies that are being read. */
  readonly bodies: ByteBudget;
  /** Shared by what waits on sockets: frames for their turn, answers for a slow reader. */
  readonly backlog: ByteBudget;
  readonly descriptors: Descriptors;
  /** The other servers behind the same address. */
  readonly fleet: Fleet | undefined;
  /** HTTP requests being answered. */
  requests: number;
  /** The server is on its way down: nothing new is taken. */
  draining: boolean;
}
