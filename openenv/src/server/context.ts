import type { Origins } from "./origins.js";
import type { Runtime } from "./runtime.js";
import type { Sessions } from "./sessions.js";

/** What the transports of one server work with. */
export interface ServerContext {
  readonly runtime: Runtime;
  readonly sessions: Sessions;
  readonly origins: Origins;
  readonly operatorToken: string | undefined;
  readonly maxMessageBytes: number;
  readonly pingIntervalMs: number;
  /** HTTP requests being answered. */
  requests: number;
  /** The server is on its way down: nothing new is taken. */
  draining: boolean;
}
