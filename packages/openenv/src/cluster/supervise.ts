import { createServer } from "node:net";
import { ConfigError } from "../errors.js";
import type { Settings } from "../server/config/settings.js";
import { listenProblem } from "../server/lifecycle/listen-problem.js";
import { onSignals } from "../server/lifecycle/signals.js";
import { createLogger } from "../server/logging/logger.js";
import type { RunningServer } from "../server/types.js";
import type { ServerAbout } from "../session/registry/cluster.js";
import { serverUrl } from "../util/text/http-url.js";
import { Supervisor, type WorkerProgram } from "./supervisor.js";

/** What a supervisor offers: it has not loaded the environment, and knows what a worker says about it. */
export interface SupervisedServer extends Omit<RunningServer, "environment" | "webInterface"> {
  about: ServerAbout | undefined;
}

type SupervisorSettings = Pick<
  Settings,
  "host" | "port" | "workers" | "workerTimeoutMs" | "graceMs" | "drainMs" | "logLevel" | "handleSignals"
>;

/**
 * Starts the workers and watches over them. They run `program`, by default that of this process.
 * @throws ConfigError when the port is taken or a worker cannot start.
 */
export async function superviseWorkers(
  settings: SupervisorSettings,
  program?: WorkerProgram,
): Promise<SupervisedServer> {
  const { host, graceMs, drainMs, workers, workerTimeoutMs: hangMs } = settings;
  // Workers that listen on a port of their choice could not be replaced on the same one.
  const port = await probePort(host, settings.port);
  const log = createLogger(settings.logLevel);
  const supervisor = new Supervisor({ workers, port, log, graceMs, drainMs, hangMs });
  let isStarted = false;
  const replace = (): void => {
    if (!isStarted || draining !== undefined || closing !== undefined) return;
    log.info({}, "replacing the workers one by one");
    void supervisor.replaceAll();
  };
  let draining: Promise<void> | undefined;
  const drain = (): Promise<void> =>
    (draining ??= drainMs > 0 && supervisor.about !== undefined ? supervisor.drain().then(close) : close());
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= shutDown());
  const shutDown = async (): Promise<void> => {
    await supervisor.close();
    log.close();
    stopSignals();
  };
  // Before all workers serve: the first may have sessions while the last starts.
  const stopSignals = settings.handleSignals ? onSignals({ drain, close, reload: replace }, log) : () => {};
  await supervisor.start(program).catch((error: unknown) => {
    log.close();
    stopSignals();
    throw error;
  });
  isStarted = true;
  log.info({ host, port, workers, capacity: supervisor.capacity().max_sessions }, "all workers serve");
  return {
    url: serverUrl(host, port),
    role: "supervisor",
    host,
    port,
    about: supervisor.about,
    capacity: () => supervisor.capacity(),
    sessions: () => supervisor.sessions(),
    drain,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The port that is free, or the reason why it is not. */
function probePort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => reject(new ConfigError(listenProblem(error, host, port))));
    probe.listen(port, host, () => {
      const address = probe.address();
      const found = typeof address === "object" && address !== null ? address.port : port;
      probe.close(() => resolve(found));
    });
  });
}
