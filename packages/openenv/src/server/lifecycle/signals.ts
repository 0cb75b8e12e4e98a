import { isatty } from "node:tty";
import type { Logger } from "../logging/logger.js";
import type { RunningServer } from "../types.js";

const STANDARD_STREAMS = [0, 1, 2];

interface SignalHandlers extends Pick<RunningServer, "drain" | "close"> {
  /** By SIGHUP, unless it says that the terminal was closed. */
  reload(): void;
}

/**
 * Ends cleanly: by SIGTERM after draining, which a second signal cuts short, by SIGINT without. No SIGTERM cuts the grace
 * period short, a second SIGINT does. By SIGHUP it reloads, or ends when its terminal was closed, since no terminal could end
 * it from there any more. The result takes the handlers back.
 */
export function onSignals({ drain, close, reload }: SignalHandlers, log: Logger): () => void {
  let isTold = false;
  const stop = (signal: NodeJS.Signals): void => {
    log.info({ signal }, "shutting down");
    const end = signal === "SIGTERM" && !isTold ? drain : close;
    isTold = true;
    if (signal === "SIGINT") process.removeListener("SIGINT", stop);
    void end().then(() => process.exit(0));
  };
  const isTerminalClosed = watchTerminal();
  const hangUp = (signal: NodeJS.Signals): void => {
    if (isTerminalClosed()) stop(signal);
    else reload();
  };
  process.on("SIGTERM", stop).on("SIGINT", stop).on("SIGHUP", hangUp);
  // Not before: a signal that is on its way is lost while nobody listens for it.
  handOver?.();
  return () => {
    process.removeListener("SIGTERM", stop).removeListener("SIGINT", stop).removeListener("SIGHUP", hangUp);
  };
}

/** Of a start in progress: takes back the handlers that end it, because the server now has its own. */
let handOver: (() => void) | undefined;

/**
 * Starts a server that a signal ends meanwhile: the first process of a container has no other handlers. A SIGHUP waits
 * until the server has its own handler, unless the terminal was closed.
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

/** Whether a standard stream that was a terminal is none any more. Under nohup none is one, so that SIGHUP reloads. */
function watchTerminal(): () => boolean {
  const terminals = STANDARD_STREAMS.filter(isatty);
  return () => terminals.some((stream) => !isatty(stream));
}
