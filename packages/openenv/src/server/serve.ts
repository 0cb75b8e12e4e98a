import type { Server } from "node:http";
import { loadRuntime, type Upgrade } from "#parts/sockets";
import { WEB_UI_ROUTES } from "../compat/web-ui-routes.js";
import { WebUiSockets } from "../compat/web-ui-sockets.js";
import type { EnvironmentDefinition } from "../environment/environment.js";
import { ConfigError } from "../errors.js";
import { isolateEnvironment } from "../session/isolation/isolate-environment.js";
import type { Sessions } from "../session/registry/sessions.js";
import { watchLoop } from "../session/watchdog.js";
import { serverUrl } from "../util/text/http-url.js";
import type { Cluster } from "./cluster.js";
import type { Config } from "./config/config.js";
import { readTokens } from "./config/read-settings.js";
import type { ServerContext } from "./context.js";
import { createContext } from "./create-context.js";
import { createRouter } from "./http/router.js";
import { holdJournal, startJournal } from "./journal.js";
import { createLifecycle, EndStack } from "./lifecycle/lifecycle.js";
import { listenProblem } from "./lifecycle/listen-problem.js";
import { onCrash } from "./lifecycle/on-crash.js";
import { onSignals } from "./lifecycle/signals.js";
import { watchHeap } from "./limits/heap.js";
import { createLogger, type Logger } from "./logging/logger.js";
import { noteAccess, noteContainer, noteSharedState } from "./logging/start-notes.js";
import { createRoutes } from "./routes/routes.js";
import type { RunningServer, ServeOptions } from "./types.js";
import { SocketServer } from "./websocket/socket-server.js";
import { createWorkerServer } from "./worker-server.js";

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
  { config, options, cluster }: ServeHereOptions,
  ends: EndStack,
): Promise<RunningServer> {
  const platform = await loadRuntime();
  let stopSignals = (): void => {};
  ends.add(() => stopSignals());
  const log = createLogger(config.logLevel);
  ends.add(() => log.close());
  const isolated = config.isolation && (await isolateEnvironment(environment, config.isolation, log));
  ends.add(() => isolated?.close());
  const context = createContext(isolated ?? environment, config, { log, cluster });
  const { runtime, sessions } = context;
  ends.add(
    watchLoop({
      number: runtime.number,
      environment: environment.contract.name,
      prefix: runtime.idPrefix,
      logLevel: config.logLevel,
    }),
  );
  for (const part of [context.audit, context.gauge, context.descriptors]) ends.add(() => part.close());
  // The supervisor holds the one of its workers.
  const held = cluster === undefined ? await holdJournal(config) : undefined;
  ends.add(() => held?.[Symbol.asyncDispose]());
  const journal = await startJournal(config, sessions, { cluster, log, runtime });
  ends.add(() => journal?.[Symbol.asyncDispose]());
  const hasWebUi = config.webInterface && config.mode === "simulation";
  const sockets = new SocketServer(context, hasWebUi ? [new WebUiSockets(context)] : []);
  context.openSockets = () => sockets.open;
  ends.add(() => sockets.close());
  const handle = createRouter(context, createRoutes(config, hasWebUi ? WEB_UI_ROUTES : {}));
  const parts = { config, context, handle, upgrade: (upgrade: Upgrade) => sockets.upgrade(upgrade) };
  const listenShared = cluster && ((server: Server) => cluster.listen(server, config.host));
  const listener = await platform.listen({ ...parts, listenShared }).catch((error) => cannotListen(error, config));
  const { port } = listener;
  ends.add(startReaper(sessions, config));
  ends.add(watchHeap(runtime, sessions, config));

  let stopGuarding = (): void => {};
  const lifecycle = createLifecycle({ context, config, sockets, listener, ends, onClosing: () => stopGuarding() });
  const { drain, close } = lifecycle;
  const rereadTokens = (): void => replaceTokens(context, options, log);
  if (config.handleSignals) stopSignals = onSignals({ drain, close, reload: rereadTokens }, log);
  if (config.handleSignals || cluster !== undefined) stopGuarding = onCrash(log, () => sockets.terminate());
  // Every worker has the same limits: one warning is enough.
  if (cluster === undefined || cluster.number === 0) {
    context.descriptors.warn(config);
    noteAccess(config, log);
    noteContainer(config, log);
    noteSharedState(environment, config, log);
  }
  log.info({ host: config.host, port, mode: config.mode, capacity: config.maxConcurrentEnvs }, "listening");
  await cluster?.join(createWorkerServer({ ...parts, environment, sockets, listener, lifecycle, rereadTokens }));

  return {
    url: serverUrl(config.host, port),
    role: cluster === undefined ? "alone" : "worker",
    host: config.host,
    port,
    environment,
    webInterface: config.webInterface,
    capacity: () => sessions.capacity(),
    sessions: async () => (cluster === undefined ? sessions.list() : await cluster.sessions()),
    drain,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The cluster reports its own errors. */
function cannotListen(error: NodeJS.ErrnoException, { host, port }: Config): never {
  throw error instanceof ConfigError ? error : new ConfigError(listenProblem(error, host, port));
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
