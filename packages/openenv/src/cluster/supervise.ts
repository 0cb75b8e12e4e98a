import { ConfigError } from "../errors.js";
import type { ServerAbout } from "../server/cluster.js";
import type { Settings } from "../server/config/settings.js";
import { listenProblem } from "../server/lifecycle/listen-problem.js";
import { onSignals } from "../server/lifecycle/signals.js";
import { createLogger } from "../server/logging/logger.js";
import type { RunningServer } from "../server/types.js";
import { findFreePort, probePort } from "../util/free-port.js";
import { serverUrl } from "../util/text/http-url.js";
import { Supervisor, type WorkerProgram } from "./supervisor.js";

/** The server of a supervisor. It does not load the environment; its data comes from a worker. */
export interface SupervisedServer extends Omit<RunningServer, "environment" | "webInterface"> {
  about: ServerAbout | undefined;
}

type SupervisorSettings = Pick<
  Settings,
  | "host"
  | "port"
  | "workers"
  | "heapMb"
  | "workerTimeoutMs"
  | "graceMs"
  | "drainMs"
  | "logLevel"
  | "handleSignals"
  | "journal"
  | "journalDurability"
  | "journalRetention"
>;

/**
 * Starts the workers and replaces those that exit or hang. They run `program`, by default that of this process.
 * @throws ConfigError when the port is in use or a worker cannot start.
 */
export async function superviseWorkers(
  settings: SupervisorSettings,
  program?: WorkerProgram,
): Promise<SupervisedServer> {
  const { host, graceMs, drainMs, workers, heapMb, workerTimeoutMs: hangMs } = settings;
  // The port must be fixed: workers on a port of their choice could not be replaced on the same port.
  const port = await choosePort(host, settings.port);
  const held = await holdFor(settings);
  const log = createLogger(settings.logLevel);
  const supervisor = new Supervisor({ workers, heapMb, port, log, graceMs, drainMs, hangMs });
  const release = async (): Promise<void> => held?.[Symbol.asyncDispose]();
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
    await release();
    log.close();
    stopSignals();
  };
  // The handlers are set before all workers are ready: the first may have sessions while the last starts.
  const stopSignals = settings.handleSignals ? onSignals({ drain, close, reload: replace }, log) : () => {};
  await supervisor.start(program).catch(async (error: unknown) => {
    await release();
    log.close();
    stopSignals();
    throw error;
  });
  isStarted = true;
  log.info({ host, port, workers, capacity: supervisor.capacity().max_sessions }, "all workers are ready");
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

/** The journal that the workers share. Its code is loaded only with one. @throws ConfigError. */
async function holdFor(settings: SupervisorSettings): Promise<AsyncDisposable | undefined> {
  if (settings.journal === undefined) return undefined;
  return (await import("../server/journal.js")).holdJournal(settings);
}

/** Returns the port, or with 0 a free one. @throws ConfigError when it cannot be used. */
async function choosePort(host: string, port: number): Promise<number> {
  try {
    if (port === 0) return await findFreePort(host);
    await probePort(host, port);
    return port;
  } catch (error) {
    throw new ConfigError(listenProblem(error as NodeJS.ErrnoException, host, port));
  }
}
