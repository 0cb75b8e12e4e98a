import { Backlog } from "../src/server/backlog.js";
import { ByteBudget } from "../src/server/byte-budget.js";
import type { ServerContext } from "../src/server/context.js";
import { Descriptors } from "../src/server/descriptors.js";
import { createOrigins } from "../src/server/origins.js";
import { createRights } from "../src/server/rights.js";
import { RunQueue } from "../src/server/run-queue.js";
import type { Runtime } from "../src/server/runtime.js";
import { Sessions } from "../src/server/sessions.js";
import { Gauge } from "../src/server/statistics/gauge.js";
import { readTokens } from "../src/server/tokens.js";

const MB = 1024 * 1024;

/** What the transports of a server on this machine work with, for tests that set limits which no option sets. */
export function createContext(runtime: Runtime, own: Partial<ServerContext>): ServerContext {
  return {
    runtime,
    sessions: new Sessions(runtime, { maxConcurrentEnvs: 50, sessionTimeoutMs: null }),
    fleet: undefined,
    origins: createOrigins({ host: "127.0.0.1", allowedOrigins: [], allowedHosts: [] }),
    rights: createRights(readTokens({}, {})),
    maxMessageBytes: MB,
    pingIntervalMs: 60_000,
    bodies: new ByteBudget(MB),
    backlog: new Backlog(MB),
    runQueue: new RunQueue(),
    descriptors: new Descriptors(runtime),
    web: undefined,
    limits: { session_timeout_s: null, step_timeout_s: null, max_message_bytes: MB, queue_timeout_s: 30 },
    gauge: new Gauge(runtime.statistics),
    openSockets: () => 0,
    requests: 0,
    draining: false,
    closing: false,
    ...own,
  };
}
