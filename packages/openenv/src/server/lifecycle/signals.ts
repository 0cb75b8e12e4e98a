import { isatty } from "node:tty";
import type { Logger } from "../logging/logger.js";
import type { RunningServer } from "../types.js";
import { onCrash } from "./on-crash.js";

const STANDARD_STREAMS = [0, 1, 2];

interface SignalHandlers extends Pick<RunningServer, "drain" | "close"> {
  /** Called on SIGHUP, unless the terminal was closed. */
  reload(): void;
  /** Called before an uncaught exception ends the process; a supervisor, which has no peers, continues. */
  closePeers?(): Promise<void>;
}

/**
 * Stops the server on signals: SIGTERM drains first, a second signal ends the drain; SIGINT does not drain. A second
 * SIGINT also ends the grace period, a SIGTERM does not. SIGHUP reloads, or stops the server if its terminal was
 * closed: no terminal could stop it any more. The process is the server's own, so it handles crashes, too. Returns a
 * function that removes the handlers.
 */
export function onSignals({ drain, close, reload, closePeers }: SignalHandlers, log: Logger): () => void {
  let isStopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    log.info({ signal }, "shutting down");
    const end = signal === "SIGTERM" && !isStopping ? drain : close;
    isStopping = true;
    if (signal === "SIGINT") process.removeListener("SIGINT", stop);
    void end().then(() => process.exit(0));
  };
  const isTerminalClosed = watchTerminal();
  const hangUp = (signal: NodeJS.Signals): void => {
    if (isTerminalClosed()) stop(signal);
    else reload();
  };
  process.on("SIGTERM", stop).on("SIGINT", stop).on("SIGHUP", hangUp);
  // The handlers of the start are removed only now: a signal without a handler in place is lost.
  handOver?.();
  const stopGuarding = onCrash(log, closePeers);
  return () => {
    stopGuarding();
    process.removeListener("SIGTERM", stop).removeListener("SIGINT", stop).removeListener("SIGHUP", hangUp);
  };
}

/** Removes the signal handlers of a start in progress, once the server has its own. */
let handOver: (() => void) | undefined;

/**
 * Runs a start that signals can end: the first process of a container has no default handlers. SIGHUP waits until the
 * server has its own handler, unless the terminal was closed.
 */
export async function startInterruptibly<T>(start: () => Promise<T>): Promise<T> {
  const end = (): void => process.exit(0);
  const isTerminalClosed = watchTerminal();
  let isHungUp = false;
  const hangUp = (): void => {
    if (isTerminalClosed()) end();
    isHungUp = true;
  };
  const takeBack = (): void => {
    process.removeListener("SIGTERM", end).removeListener("SIGINT", end);
  };
  process.once("SIGTERM", end).once("SIGINT", end).on("SIGHUP", hangUp);
  handOver = takeBack;
  try {
    return await start();
  } finally {
    takeBack();
    if (handOver === takeBack) handOver = undefined;
    process.removeListener("SIGHUP", hangUp);
    if (isHungUp) process.kill(process.pid, "SIGHUP");
  }
}

/** Returns whether a standard stream stopped being a terminal. Under nohup no stream is one, so SIGHUP reloads. */
function watchTerminal(): () => boolean {
  const terminals = STANDARD_STREAMS.filter(isatty);
  return () => terminals.some((stream) => !isatty(stream));
}
