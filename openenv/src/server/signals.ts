import type { Logger } from "./logger.js";
import type { RunningServer } from "./types.js";

interface SignalHandlers extends Pick<RunningServer, "drain" | "close"> {
  /** By SIGHUP. */
  reload(): void;
}

/**
 * Ends cleanly: by SIGTERM after draining, which a second signal cuts short, by SIGINT without. No SIGTERM cuts the grace
 * period short, a second SIGINT does. The result takes the handlers back.
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
  process.on("SIGTERM", stop).on("SIGINT", stop).on("SIGHUP", reload);
  return () => {
    process.removeListener("SIGTERM", stop).removeListener("SIGINT", stop).removeListener("SIGHUP", reload);
  };
}

/** Starts a server that a signal ends meanwhile: the first process of a container has no other handlers. */
export async function startInterruptibly<T>(start: () => Promise<T>): Promise<T> {
  const end = (): void => process.exit(0);
  process.once("SIGTERM", end).once("SIGINT", end);
  try {
    return await start();
  } finally {
    process.removeListener("SIGTERM", end).removeListener("SIGINT", end);
  }
}
