import { ConfigError } from "#core/errors.js";
import { listenProblem } from "#core/server/lifecycle/listen-problem.js";
import { onSignals } from "#core/server/lifecycle/signals.js";
import { createLogger } from "#core/server/logging/logger.js";
import type { ClusterPart } from "#core/server/parts/cluster.js";
import { holdJournal } from "#core/server/parts/durable.js";
import { Central } from "#core/server/plugins/central.js";
import { findFreePort, probePort } from "#core/util/free-port.js";
import { serverUrl } from "#core/util/text/server-url.js";
import { Supervisor } from "./supervisor.js";

export const superviseWorkers: ClusterPart["superviseWorkers"] = async (settings, program) => {
  const { host, graceMs, drainMs, workers, heapMb, workerTimeoutMs: hangMs } = settings;
  // The port must be fixed: workers on a port of their choice could not be replaced on the same port.
  const port = await choosePort(host, settings.port);
  const held = await holdJournal(settings);
  const log = createLogger(settings.logLevel);
  const central = new Central(log);
  const supervisor = new Supervisor({ workers, heapMb, port, log, graceMs, drainMs, hangMs, central });
  const release = async (): Promise<void> => {
    await central.close();
    await held?.[Symbol.asyncDispose]();
  };
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
  try {
    await central.start(settings.plugins);
    await supervisor.start(program);
  } catch (error) {
    await release();
    log.close();
    stopSignals();
    throw error;
  }
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
};

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
