import { Audit } from "../../packages/openenv/src/server/access/audit.js";
import { createAuthorization } from "../../packages/openenv/src/server/access/authorization.js";
import { createOrigins } from "../../packages/openenv/src/server/access/origins.js";
import { readTokens } from "../../packages/openenv/src/server/config/read-settings.js";
import type { ServerContext } from "../../packages/openenv/src/server/context.js";
import { Descriptors } from "../../packages/openenv/src/server/limits/descriptors.js";
import { Gauge } from "../../packages/openenv/src/server/limits/gauge.js";
import { findDurable } from "../../packages/openenv/src/server/parts/durable.js";
import { Plugins } from "../../packages/openenv/src/server/plugins/plugins.js";
import { SessionDirectory } from "../../packages/openenv/src/session/registry/directory.js";
import { NO_ADDRESSES } from "../../packages/openenv/src/session/registry/session-keeper.js";
import { Sessions } from "../../packages/openenv/src/session/registry/sessions.js";
import type { Runtime } from "../../packages/openenv/src/session/runtime.js";
import { Backlog } from "../../packages/sockets/src/limits/backlog.js";
import { ByteBudget } from "../../packages/sockets/src/scheduling/byte-budget.js";
import { RunQueue } from "../../packages/sockets/src/scheduling/run-queue.js";

const MB = 1024 * 1024;

/** Creates the context of a server's transports, for tests of limits that have no option. */
export async function createContext(runtime: Runtime, own: Partial<ServerContext>): Promise<ServerContext> {
  const durable = await findDurable();
  const sessions: Sessions = new Sessions(
    runtime,
    { maxConcurrentEnvs: 50, sessionTimeoutMs: null },
    durable?.createKeeper,
  );
  const authorization = createAuthorization(readTokens({}, {}));
  return {
    runtime,
    sessions,
    addresses: sessions.keeper?.addresses ?? NO_ADDRESSES,
    directory: new SessionDirectory(sessions, undefined),
    cluster: undefined,
    origins: createOrigins({ host: "127.0.0.1", allowedOrigins: [], allowedHosts: [] }),
    authorization,
    audit: new Audit(runtime.log, authorization),
    plugins: new Plugins([], {
      runtime,
      variables: {},
      worker: 0,
      sessions: () => [],
      open: () => Promise.reject(new Error("no sessions")),
      ask: async () => ({ answer: null }),
    }),
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
