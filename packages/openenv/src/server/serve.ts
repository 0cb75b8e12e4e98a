import type { Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { loadRuntime, type Upgrade } from "#parts/sockets";
import { createWebUi } from "../compat/web-ui-routes.js";
import type { EnvironmentDefinition } from "../environment/environment.js";
import { ConfigError } from "../errors.js";
import { closeUnused, makeEnvironment } from "../session/make-environment.js";
import type { Sessions } from "../session/registry/sessions.js";
import type { Runtime } from "../session/runtime.js";
import { listInfo } from "../session/session-info.js";
import type { SessionRejectedError } from "../session/session-rejected-error.js";
import { watchLoop } from "../session/watchdog.js";
import { serverUrl } from "../util/text/server-url.js";
import type { Cluster } from "./cluster.js";
import type { Config } from "./config/config.js";
import { readTokens } from "./config/read-settings.js";
import type { ServerContext } from "./context.js";
import { createContext } from "./create-context.js";
import { createRouter } from "./http/router.js";
import { createLifecycle, EndStack } from "./lifecycle/lifecycle.js";
import { listenProblem } from "./lifecycle/listen-problem.js";
import { onCrash } from "./lifecycle/on-crash.js";
import { onSignals } from "./lifecycle/signals.js";
import { watchHeap } from "./limits/heap.js";
import { createLogger, type Logger } from "./logging/logger.js";
import { noteAccess, noteContainer, noteSharedState } from "./logging/start-notes.js";
import { type DurablePart, findDurable, holdJournal, rejectLimits } from "./parts/durable.js";
import { startHost } from "./parts/isolation.js";
import { addRecorder } from "./parts/rollouts.js";
import { Central } from "./plugins/central.js";
import type { Mount } from "./routes/mount.js";
import { pluginRoutes } from "./routes/plugin-routes.js";
import { createRoutes } from "./routes/routes.js";
import type { RunningServer, ServeOptions } from "./types.js";
import { SocketServer } from "./websocket/socket-server.js";
import { createWorkerServer } from "./worker-server.js";

/** The start waits so long for the environment that it has tried to close. */
const CLOSE_MS = 10_000;

interface ServeHereOptions {
  config: Config;
  /** What `config` was read from: the tokens are read from it again. */
  options: ServeOptions;
  cluster?: Cluster | undefined;
}

/**
 * Serves an environment in this process, alone or as a worker of a cluster. Resolves when it listens.
 * @throws ConfigError for a port that is in use.
 */
export async function serveHere(environment: EnvironmentDefinition, how: ServeHereOptions): Promise<RunningServer> {
  const ends = new EndStack();
  try {
    return await start(environment, how, ends);
  } catch (error) {
    await ends.run();
    throw error;
  }
}

async function start(
  environment: EnvironmentDefinition,
  { config: given, options, cluster }: ServeHereOptions,
  ends: EndStack,
): Promise<RunningServer> {
  const config = await addRecorder(given);
  const platform = await loadRuntime();
  let stopSignals = (): void => {};
  ends.add(() => stopSignals());
  const log = createLogger(config.logLevel);
  ends.add(() => log.close());
  const resources = await environment.resources?.hold({ isolated: config.isolation !== undefined });
  ends.add(() => resources?.[Symbol.asyncDispose]());
  const host = config.isolation && (await startHost(environment, config.isolation, log));
  ends.add(() => host?.[Symbol.asyncDispose]());
  // That of a cluster is in its supervisor.
  const central = new Central(log);
  ends.add(() => central.close());
  if (cluster === undefined) await central.start(config.plugins);
  const durable = await findDurable();
  if (durable === undefined) rejectLimits(config);
  const served = host ? { ...environment, create: () => host.create() } : environment;
  const context = createContext(served, config, { log, cluster, central, durable });
  await startParts(context, config, ends);
  const { runtime, sessions } = context;
  // The workers have the same factory.
  if (config.tryFactory && (cluster === undefined || cluster.number === 0)) await tryFactory(runtime);
  const mounts = mountAll(context, config, durable);
  const sockets = new SocketServer(
    context,
    mounts.flatMap((mount) => mount.sockets ?? []),
  );
  context.openSockets = () => sockets.open;
  ends.add(() => sockets.close());
  const handle = createRouter(context, createRoutes(config, mounts));
  const own = { config, context, handle, upgrade: (upgrade: Upgrade) => sockets.upgrade(upgrade) };
  const listenShared = cluster && ((server: Server) => cluster.listen(server, config.host));
  const listener = await platform.listen({ ...own, listenShared }).catch((error) => cannotListen(error, config));
  const { port } = listener;
  ends.add(startReaper(sessions, config));
  ends.add(watchHeap(runtime, sessions, config));

  let stopGuarding = (): void => {};
  const lifecycle = createLifecycle({ context, config, sockets, listener, ends, onClosing: () => stopGuarding() });
  const { drain, close } = lifecycle;
  const rereadTokens = (): void => replaceTokens(context, options, log);
  const closePeers = (): Promise<void> => sockets.terminate();
  if (config.handleSignals) stopSignals = onSignals({ drain, close, reload: rereadTokens, closePeers }, log);
  if (cluster !== undefined) stopGuarding = onCrash(log, closePeers);
  // Every worker has the same limits: one warning is enough.
  if (cluster === undefined || cluster.number === 0) noteStart(environment, context, config);
  log.info({ host: config.host, port, mode: config.mode, capacity: config.maxConcurrentEnvs }, "listening");
  await cluster?.join(createWorkerServer({ ...own, environment, sockets, listener, lifecycle, rereadTokens }));

  return {
    url: serverUrl(config.host, port),
    role: cluster === undefined ? "alone" : "worker",
    host: config.host,
    port,
    environment,
    webInterface: config.webInterface,
    capacity: () => sessions.capacity(),
    sessions: async () => (cluster === undefined ? listInfo(sessions.all) : await cluster.sessions()),
    drain,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Makes an environment and closes it. @throws ConfigError when the environment's own code fails in its factory. */
async function tryFactory(runtime: Runtime): Promise<void> {
  try {
    const made = await makeEnvironment(runtime);
    await Promise.race([closeUnused(Promise.resolve(made), runtime), sleep(CLOSE_MS, undefined, { ref: false })]);
  } catch (error) {
    const { message, data } = error as SessionRejectedError;
    // What it needs may be temporarily unavailable.
    if (data?.fault !== "infrastructure") throw new ConfigError(message);
  }
}

/** The cluster reports its own errors. */
function cannotListen(error: NodeJS.ErrnoException, { host, port }: Config): never {
  throw error instanceof ConfigError ? error : new ConfigError(listenProblem(error, host, port));
}

/** Starts what the sessions need before the server listens. */
async function startParts(context: ServerContext, config: Config, ends: EndStack): Promise<void> {
  const { cluster, plugins, runtime, sessions } = context;
  const { definition, idPrefix: prefix, number } = runtime;
  ends.add(watchLoop({ number, environment: definition.contract.name, prefix, logLevel: config.logLevel }));
  for (const part of [context.audit, context.gauge, context.descriptors]) ends.add(() => part.close());
  // The supervisor holds the one of its workers.
  const held = cluster === undefined ? await holdJournal(config) : undefined;
  ends.add(() => held?.[Symbol.asyncDispose]());
  const journal = await sessions.keeper?.start(config);
  ends.add(() => journal?.[Symbol.asyncDispose]());
  await plugins.start((end) => ends.add(end));
}

/** The parts of the server that are not its own. @throws ConfigError for a route of a plugin that the server has. */
function mountAll(context: ServerContext, config: Config, durable: DurablePart | undefined): Mount[] {
  const hasWebUi = config.webInterface && config.mode === "simulation";
  const own = [...(hasWebUi ? [createWebUi(context)] : []), ...(durable ? [{ ofSession: durable.routes }] : [])];
  // Simulation has the routes of all modes.
  return [...own, pluginRoutes(context.plugins, createRoutes({ ...config, mode: "simulation" }, own))];
}

function noteStart(environment: EnvironmentDefinition, { descriptors, runtime }: ServerContext, config: Config): void {
  descriptors.warn(config);
  noteAccess(config, runtime.log);
  noteContainer(config, runtime.log);
  noteSharedState(environment, config, runtime.log);
}

function replaceTokens({ authorization }: ServerContext, options: ServeOptions, log: Logger): void {
  try {
    authorization.replace(readTokens(options, process.env));
    log.info({}, "reloaded the tokens");
  } catch (error) {
    log.error({ err: error }, "could not reload the tokens; the previous ones stay valid");
  }
}

/** Closes sessions without a socket that have timed out, at most a quarter of the timeout late. */
function startReaper(sessions: Sessions, { sessionTimeoutMs, sessionIdleMs = Infinity }: Config): () => void {
  const everyMs = Math.min((sessionTimeoutMs ?? Infinity) / 4, sessionIdleMs / 4, 5_000);
  const timer = setInterval(() => sessions.endOverdue(), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
