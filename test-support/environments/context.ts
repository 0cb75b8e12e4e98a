import { Audit } from "../../packages/openenv/src/server/access/audit.js";
import { createAuthorization } from "../../packages/openenv/src/server/access/authorization.js";
import { createOrigins } from "../../packages/openenv/src/server/access/origins.js";
import { readTokens } from "../../packages/openenv/src/server/config/read-settings.js";
import type { ServerContext } from "../../packages/openenv/src/server/context.js";
import { Descriptors } from "../../packages/openenv/src/server/limits/descriptors.js";
import { Gauge } from "../../packages/openenv/src/server/limits/gauge.js";
import { SessionDirectory } from "../../packages/openenv/src/session/registry/directory.js";
import { Sessions } from "../../packages/openenv/src/session/registry/sessions.js";
import { Addresses } from "../../packages/openenv/src/session/resume/addresses.js";
import type { Runtime } from "../../packages/openenv/src/session/runtime.js";
import { Backlog } from "../../packages/sockets/src/limits/backlog.js";
import { ByteBudget } from "../../packages/sockets/src/scheduling/byte-budget.js";
import { RunQueue } from "../../packages/sockets/src/scheduling/run-queue.js";

const MB = 1024 * 1024;

/** Creates the context of a server's transports, for tests of limits that have no option. */
export function createContext(runtime: Runtime, own: Partial<ServerContext>): ServerContext {
  const sessions = new Sessions(runtime, { maxConcurrentEnvs: 50, sessionTimeoutMs: null });
  const authorization = createAuthorization(readTokens({}, {}));
  return {
    runtime,
    sessions,
    addresses: new Addresses(sessions, runtime.mode),
    directory: new SessionDirectory(sessions, undefined),
    cluster: undefined,
    origins: createOrigins({ host: "127.0.0.1", allowedOrigins: [], allowedHosts: [] }),
    authorization,
    audit: new Audit(runtime.log, authorization),
    maxMessageBytes: MB,
    pingIntervalMs: 60_000,
    bodies: new ByteBudget(MB),
    backlog: new Backlog(MB),
    runQueue: new RunQueue(),
    descriptors: new Descriptors(runtime),
    web: undefined,
    limits: { session_timeout_s: null, step_timeout_s: null, max_message_bytes: MB, queue_timeout_s: 30 },
    orsSeeds: 1000,
    gauge: new Gauge(runtime.statistics),
    openSockets: () => 0,
    streams: new Set(),
    unnamed: new Set(),
    requests: 0,
    draining: false,
    closing: false,
    ...own,
  };
}
