import { toError } from "../../session/to-error.js";
import type { Logger } from "../logging/logger.js";

/**
 * Handles errors outside of calls, in code of the environment or of a plugin, which should not end all sessions. An
 * unhandled rejection is logged and the process continues. After an uncaught exception the state of the process is
 * undefined: peers receive a close code, and the process exits with 1. A process without peers supervises the others,
 * which would end with it: it continues. Returns a function that removes the handlers.
 */
export function onCrash(log: Logger, closePeers?: () => Promise<void>): () => void {
  const onRejection = (reason: unknown): void => {
    log.error({ err: toError(reason) }, "unhandled promise rejection in code of the environment or of a plugin");
  };
  const onException = (error: unknown): void => {
    if (closePeers === undefined) return log.error({ err: toError(error) }, "uncaught exception; continuing");
    log.error({ err: toError(error) }, "uncaught exception; exiting");
    void closePeers().finally(() => {
      log.flush();
      process.exit(1);
    });
  };
  process.on("unhandledRejection", onRejection).on("uncaughtException", onException);
  return () => {
    process.removeListener("unhandledRejection", onRejection).removeListener("uncaughtException", onException);
  };
}
