import { Backlog } from "#parts/sockets";
import { ByteBudget } from "#parts/sockets/scheduling";
import type { EnvironmentDefinition } from "../environment/environment.js";
import type { ServerView } from "../protocol/web.js";
import { SessionDirectory } from "../session/registry/directory.js";
import { NO_ADDRESSES } from "../session/registry/session-keeper.js";
import { Sessions } from "../session/registry/sessions.js";
import { createRuntime } from "../session/runtime.js";
import { Audit } from "./access/audit.js";
import { createAuthorization } from "./access/authorization.js";
import { createOrigins } from "./access/origins.js";
import type { Cluster } from "./cluster.js";
import type { Config } from "./config/config.js";
import type { ServerContext } from "./context.js";
import { Descriptors } from "./limits/descriptors.js";
import { Gauge } from "./limits/gauge.js";
import { BACKLOG_BYTES, BODIES_BYTES } from "./limits/memory.js";
import type { Logger } from "./logging/logger.js";
import type { DurablePart } from "./parts/durable.js";
import type { Central } from "./plugins/central.js";
import { Plugins } from "./plugins/plugins.js";

interface ContextParts {
  log: Logger;
  cluster: Cluster | undefined;
  central: Central;
  /** Undefined where it is missing. */
  durable: DurablePart | undefined;
}

/** Creates what the transports of a server share. */
export function createContext(
  environment: EnvironmentDefinition,
  config: Config,
  { log, cluster, central, durable }: ContextParts,
): ServerContext {
  const runtime = createRuntime(environment, {
    mode: config.mode,
    log,
    idPrefix: cluster?.idPrefix ?? "",
    maxMessageItems: config.maxMessageItems,
    restore: config.restore,
    guarded: config.mode === "production" && config.orchestratorToken !== undefined,
  });
  const plugins = new Plugins(config.plugins, {
    runtime,
    variables: process.env,
    worker: cluster?.number ?? 0,
    sessions: () => sessions.all,
    open: (opener) => sessions.open(undefined, opener),
    ask: (plugin, message) => cluster?.askCentral(plugin, message) ?? central.answer(plugin, message, 0),
  });
  const { admit, hooksFor } = plugins;
  const sessions: Sessions = new Sessions(runtime, { ...config, cluster, admit, hooksFor }, durable?.createKeeper);
  const authorization = createAuthorization(config);
  return {
    runtime,
    sessions,
    addresses: sessions.keeper?.addresses ?? NO_ADDRESSES,
    directory: new SessionDirectory(sessions, cluster),
    cluster,
    origins: createOrigins(config),
    authorization,
    audit: new Audit(log, authorization),
    plugins,
    maxMessageBytes: config.maxMessageBytes,
    pingIntervalMs: config.pingIntervalMs,
    bodies: new ByteBudget(Math.max(BODIES_BYTES, config.maxMessageBytes)),
    backlog: new Backlog(Math.max(BACKLOG_BYTES, config.maxMessageBytes)),
    runQueue: runtime.runQueue,
    descriptors: new Descriptors(runtime),
    deployment: config.deployment,
    web: config.webInterface ? config : undefined,
    limits: limitsOf(config),
    orsSeeds: config.orsSeeds,
    gauge: new Gauge(runtime.statistics),
    openSockets: () => 0,
    streams: new Set(),
    unnamed: new Set(),
    requests: 0,
    draining: false,
    closing: false,
  };
}

function limitsOf({ sessionTimeoutMs, isolation, maxMessageBytes, queueTimeoutMs }: Config): ServerView["limits"] {
  return {
    session_timeout_s: sessionTimeoutMs === null ? null : sessionTimeoutMs / 1000,
    step_timeout_s: isolation?.stepTimeoutMs === undefined ? null : isolation.stepTimeoutMs / 1000,
    max_message_bytes: maxMessageBytes,
    queue_timeout_s: queueTimeoutMs / 1000,
  };
}
