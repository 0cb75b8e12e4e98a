import { setTimeout as sleep } from "node:timers/promises";
import { WEB_UI_ROUTES } from "../compat/web-ui-routes.js";
import { WebUiSockets } from "../compat/web-ui-sockets.js";
import type { EnvironmentDefinition } from "../environment/environment.js";
import type { ServerView } from "../protocol/web.js";
import { isolateEnvironment } from "../session/isolation/isolate-environment.js";
import { SessionDirectory } from "../session/registry/directory.js";
import { Sessions } from "../session/registry/sessions.js";
import { Addresses } from "../session/resume/addresses.js";
import { createRuntime } from "../session/runtime.js";
import { watchLoop } from "../session/watchdog.js";
import { ByteBudget } from "../util/byte-budget.js";
import { serverUrl } from "../util/text/http-url.js";
import { Audit } from "./access/audit.js";
import { createAuthorization } from "./access/authorization.js";
import { createOrigins } from "./access/origins.js";
import { readTokens } from "./access/tokens.js";
import type { Cluster, ServerAbout } from "./cluster.js";
import type { Config } from "./config/config.js";
import type { ServerContext } from "./context.js";
import { createRouter } from "./http/router.js";
import { startJournal } from "./journal.js";
import { DRAIN_POLL_MS, drainSessions } from "./lifecycle/drain.js";
import { onCrash } from "./lifecycle/on-crash.js";
import { onSignals } from "./lifecycle/signals.js";
import { BACKLOG_BYTES, Backlog, BODIES_BYTES } from "./limits/backlog.js";
import { Descriptors } from "./limits/descriptors.js";
import { watchHeap } from "./limits/heap.js";
import { createLogger } from "./logging/logger.js";
import { noteAccess, noteContainer, noteSharedState } from "./logging/start-notes.js";
import { Gauge } from "./metrics/gauge.js";
import { createRoutes } from "./routes/routes.js";
import { type Listener, loadRuntime, type Upgrade } from "./runtimes/runtime.js";
import type { RunningServer, ServeOptions } from "./types.js";
import { createSocketServer } from "./websocket/socket-server.js";

/** The time that a new connection gets to send its request. */
const SETTLE_MS = 100;
/** The time that environments get to close, even if less of the grace period is left. */
const CLOSE_LIMIT_MS = 1_000;

/**
 * Serves an environment in this process, alone or as a worker of a cluster. Resolves when it listens. `options` are those
 * that `config` was read from: the tokens are read from them again.
 * @throws ConfigError for a port that is in use.
 */
export async function serveHere(
  environment: EnvironmentDefinition,
  { config, options, cluster }: { config: Config; options: ServeOptions; cluster?: Cluster | undefined },
): Promise<RunningServer> {
  const platform = await loadRuntime();
  const log = createLogger(config.logLevel);
  const giveUp = (error: unknown): never => {
    log.close();
    throw error;
  };
  const isolated = config.isolation && (await isolateEnvironment(environment, config.isolation, log).catch(giveUp));
  const runtime = createRuntime(isolated ?? environment, {
    mode: config.mode,
    log,
    idPrefix: cluster?.idPrefix ?? "",
    maxMessageItems: config.maxMessageItems,
    restore: config.restore,
    guarded: config.mode === "production" && config.orchestratorToken !== undefined,
  });
  const sessions = new Sessions(runtime, { ...config, cluster });
  const authorization = createAuthorization(config);
  const context: ServerContext = {
    runtime,
    sessions,
    addresses: new Addresses(sessions, config.mode),
    directory: new SessionDirectory(sessions, cluster),
    cluster,
    origins: createOrigins(config),
    authorization,
    audit: new Audit(log, authorization),
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
    openSockets: () => sockets.open,
    unnamed: new Set(),
    requests: 0,
    draining: false,
    closing: false,
  };
  const journal = await startJournal(config, context.sessions, { cluster, log, runtime }).catch(
    async (error: unknown) => {
      await isolated?.close();
      return giveUp(error);
    },
  );
  const stopWatching = watchLoop({
    number: runtime.number,
    environment: environment.contract.name,
    prefix: runtime.idPrefix,
    logLevel: config.logLevel,
  });
  const hasWebUi = config.webInterface && config.mode === "simulation";
  const sockets = createSocketServer(context, hasWebUi ? [new WebUiSockets(context)] : []);
  const handle = createRouter(context, createRoutes(config, hasWebUi ? WEB_UI_ROUTES : {}));
  const listening = platform.listen({ config, context, cluster, handle, upgrade: sockets.upgrade });
  const listener: Listener = await listening.catch(async (error: unknown) => {
    sockets.close();
    stopWatching();
    await journal?.[Symbol.asyncDispose]();
    await isolated?.close();
    return giveUp(error);
  });
  const { port } = listener;
  const reaper = startReaper(context.sessions, config);
  const stopHeapWatch = watchHeap(runtime, context.sessions, config);
  listeningPorts().add(port);

  let draining: Promise<void> | undefined;
  const drain = (): Promise<void> => (draining ??= config.drainMs > 0 ? drainThenClose(config.drainMs) : close());
  const drainThenClose = async (limitMs: number): Promise<void> =>
    retire(await drainSessions(context, { limitMs, isDone: () => context.sessions.inUse === 0 }));
  /** Stops accepting connections, so that a balancer uses another server; existing connections are still served. */
  const retire = async (limitMs: number): Promise<void> => {
    const deadline = performance.now() + limitMs;
    context.sessions.departure.stop();
    if (!context.draining) await context.sessions.journal?.findTakers(false);
    const sessionsEnd = async (): Promise<void> => {
      while (context.sessions.inUse > 0 && !context.closing && performance.now() < deadline) await sleep(DRAIN_POLL_MS);
    };
    // An HTTP session that was accepted at the last moment still needs new connections.
    if (context.draining) await sessionsEnd();
    if (!context.closing) listener.retire();
    await sleep(SETTLE_MS);
    await sessionsEnd();
    await close();
  };
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= shutDown());
  const shutDown = async (): Promise<void> => {
    context.draining = true;
    context.closing = true;
    stopGuarding();
    sockets.drain();
    void context.mcp?.then((endpoint) => endpoint.drain()).catch(() => {});
    // The listener stays open meanwhile, so that a balancer reads "unhealthy" from /health.
    const deadline = performance.now() + config.graceMs;
    while (sockets.open + context.requests > 0 && performance.now() < deadline) await sleep(DRAIN_POLL_MS);
    if (sockets.open > 0) await sockets.terminate();
    sockets.close();
    await listener.close();
    clearInterval(reaper);
    stopHeapWatch();
    await context.sessions.endAll("the server was stopped", Math.max(deadline - performance.now(), CLOSE_LIMIT_MS));
    await journal?.[Symbol.asyncDispose]();
    await isolated?.close();
    listeningPorts().delete(port);
    context.descriptors.close();
    context.gauge.close();
    context.audit.close();
    stopWatching();
    log.close();
    stopSignals();
  };
  const rereadTokens = (): void => {
    try {
      context.authorization.replace(readTokens(options, process.env));
      log.info({}, "reloaded the tokens");
    } catch (error) {
      log.error({ err: error }, "could not reload the tokens; the previous ones stay valid");
    }
  };
  const stopSignals = config.handleSignals ? onSignals({ drain, close, reload: rereadTokens }, log) : () => {};
  const stopGuarding =
    config.handleSignals || cluster !== undefined ? onCrash(log, () => sockets.terminate()) : () => {};
  // Every worker has the same limit: one warning is enough.
  if (cluster === undefined || cluster.number === 0) {
    context.descriptors.warn(config);
    noteAccess(config, log);
    noteContainer(config, log);
    noteSharedState(environment, config, log);
  }
  log.info({ host: config.host, port, mode: config.mode, capacity: config.maxConcurrentEnvs }, "listening");
  await cluster?.join({
    about: describeServer(environment, config),
    load() {
      const load = context.sessions.load();
      return { ...load, active: load.active + context.addresses.expected };
    },
    list: () => context.sessions.list(),
    report: async (query) => (await import("./metrics/report.js")).makeReport(context, query),
    upgrade: (...handed) => sockets.acceptForwarded(listener.takeOver?.(...handed) as Upgrade),
    handle: (request, response) => void handle(request, response, { forwarded: true }),
    hasSession: (id) => context.directory.has(id),
    hasAddress: (address) => context.addresses.has(address),
    loseAddress: (address) => context.sessions.resumptions.lose(address, "was lost with its worker"),
    inUse: () => context.sessions.inUse,
    drain: () => void drainSessions(context, { limitMs: config.drainMs, isDone: () => false }),
    retire,
    pause: (paused) => context.sessions.pause(paused),
    rereadTokens,
    close,
  });

  return {
    url: serverUrl(config.host, port),
    role: cluster === undefined ? "alone" : "worker",
    host: config.host,
    port,
    environment,
    webInterface: config.webInterface,
    capacity: () => context.sessions.capacity(),
    sessions: async () => (cluster === undefined ? context.sessions.list() : await cluster.sessions()),
    drain,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function describeServer({ contract }: EnvironmentDefinition, { webInterface }: Config): ServerAbout {
  return { name: contract.name, version: contract.version, schemas: contract.schemas(), webInterface };
}

function limitsOf({ sessionTimeoutMs, isolation, maxMessageBytes, queueTimeoutMs }: Config): ServerView["limits"] {
  return {
    session_timeout_s: sessionTimeoutMs === null ? null : sessionTimeoutMs / 1000,
    step_timeout_s: isolation?.stepTimeoutMs === undefined ? null : isolation.stepTimeoutMs / 1000,
    max_message_bytes: maxMessageBytes,
    queue_timeout_s: queueTimeoutMs / 1000,
  };
}

/** Closes sessions without a socket that have timed out, at most a quarter of the timeout late. */
function startReaper(sessions: Sessions, { sessionTimeoutMs, sessionIdleMs = Infinity }: Config): NodeJS.Timeout {
  const everyMs = Math.min((sessionTimeoutMs ?? Infinity) / 4, sessionIdleMs / 4, 5_000);
  const timer = setInterval(() => sessions.endOverdue(), everyMs);
  timer.unref();
  return timer;
}

/** The ports that this process listens on. A blocking client checks them: it would block its own server. */
function listeningPorts(): Set<number> {
  const key = Symbol.for("openenv.listening");
  const holder = globalThis as { [key]?: Set<number> };
  return (holder[key] ??= new Set());
}
