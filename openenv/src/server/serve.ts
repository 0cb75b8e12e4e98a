import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { EnvironmentDefinition } from "../env/environment.js";
import { isEnvironmentDefinition } from "../env/environment.js";
import { ConfigError } from "../errors.js";
import { type Config, readConfig } from "./config.js";
import type { ServerContext } from "./context.js";
import { createRouter } from "./http/router.js";
import { createRoutes } from "./http/routes.js";
import { createLogger, type Logger } from "./logger.js";
import { createOrigins } from "./origins.js";
import { createRuntime } from "./runtime.js";
import { Sessions } from "./sessions.js";
import type { RunningServer, ServeOptions } from "./types.js";
import { createSocketServer } from "./ws/socket-server.js";

const DRAIN_POLL_MS = 10;

/**
 * Serves an environment: WebSocket `/ws` and `/mcp`, and the HTTP routes. Resolves when it listens.
 * @throws ConfigError for a wrong option or variable, a taken port, or what is no environment.
 */
export async function serve(environment: EnvironmentDefinition, options: ServeOptions = {}): Promise<RunningServer> {
  if (!isEnvironmentDefinition(environment)) {
    throw new ConfigError("serve() needs what defineEnvironment(contract, factory) returns.");
  }
  const config = readConfig(environment, options, process.env);
  const log = createLogger(config.logLevel);
  const runtime = createRuntime(environment, { mode: config.mode, log });
  const context: ServerContext = {
    runtime,
    sessions: new Sessions(runtime, config),
    origins: createOrigins(config.host, config.allowedOrigins),
    operatorToken: config.operatorToken,
    maxMessageBytes: config.maxMessageBytes,
    pingIntervalMs: config.pingIntervalMs,
    requests: 0,
    draining: false,
  };
  const sockets = createSocketServer(context);
  const server = createServer({ noDelay: true }, createRouter(context, createRoutes(config.mode)));
  server.on("upgrade", sockets.upgrade);
  const port = await listen(server, config);
  const reaper = startReaper(context.sessions, config);
  listeningPorts().add(port);

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= shutDown());
  const shutDown = async (): Promise<void> => {
    context.draining = true;
    stopSignals();
    sockets.goAway();
    // The listener stays up meanwhile, so that a balancer reads "unhealthy" from /health.
    const deadline = Date.now() + config.graceMs;
    while (sockets.open + context.requests > 0 && Date.now() < deadline) await sleep(DRAIN_POLL_MS);
    sockets.close();
    await closeListener(server);
    clearInterval(reaper);
    await context.sessions.endAll("the server was stopped");
    listeningPorts().delete(port);
    log.close();
  };
  const stopSignals = options.handleSignals === true ? onSignals(close, log) : () => {};
  log.info({ host: config.host, port, mode: config.mode, capacity: config.maxConcurrentEnvs }, "listening");

  return {
    url: `http://${urlHost(config.host)}:${port}`,
    host: config.host,
    port,
    environment,
    capacity: () => context.sessions.capacity(),
    sessions: () => context.sessions.list(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function listen(server: Server, { host, port }: Config): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(new ConfigError(listenProblem(error, host, port))));
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

function listenProblem(error: NodeJS.ErrnoException, host: string, port: number): string {
  if (error.code === "EADDRINUSE")
    return `Port ${port} of ${host} is in use: set PORT or --port to another, or stop what uses it.`;
  if (error.code === "EACCES") return `Port ${port} needs more rights: set PORT or --port to one from 1024 on.`;
  if (error.code === "ENOTFOUND" || error.code === "EADDRNOTAVAIL") {
    return `HOST "${host}" is not an address of this machine: use 127.0.0.1, or 0.0.0.0 for all.`;
  }
  return `Cannot listen on ${host}:${port}: ${error.message}`;
}

/** Sessions without a socket that have timed out end at most a quarter of the timeout late. */
function startReaper(sessions: Sessions, { sessionTimeoutMs }: Config): NodeJS.Timeout | undefined {
  if (sessionTimeoutMs === null) return undefined;
  const timer = setInterval(() => sessions.sweep(), Math.min(sessionTimeoutMs / 4, 5_000));
  timer.unref();
  return timer;
}

function closeListener(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function onSignals(close: () => Promise<void>, log: Logger): () => void {
  const stop = (signal: NodeJS.Signals): void => {
    log.info({ signal }, "shutting down");
    void close().then(() => process.exit(0));
  };
  process.once("SIGTERM", stop).once("SIGINT", stop);
  return () => {
    process.removeListener("SIGTERM", stop).removeListener("SIGINT", stop);
  };
}

/** Ports this process listens on: a blocking client asks, because it would wait for itself. */
function listeningPorts(): Set<number> {
  const key = Symbol.for("openenv.listening");
  const holder = globalThis as { [key]?: Set<number> };
  return (holder[key] ??= new Set());
}

function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
