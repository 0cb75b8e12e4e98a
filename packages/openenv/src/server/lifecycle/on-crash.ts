import { toError } from "../../session/failure.js";
import type { Logger } from "../logging/logger.js";

/**
 * Handles errors of author code outside of calls, which should not end all sessions. An unhandled rejection is logged
 * and the server continues. After an uncaught exception the state of the process is undefined: peers receive a close
 * code, and the process exits with 1. Returns a function that removes the handlers.
 */
export function onCrash(log: Logger, closePeers: () => Promise<void>): () => void {
  const onRejection = (reason: unknown): void => {
    log.error({ err: toError(reason) }, "unhandled promise rejection in environment code");
  };
  const onException = (error: unknown): void => {
    log.error({ err: toError(error) }, "uncaught exception; exiting");
    void closePeers().finally(() => {
      log.flush();
      process.exit(1);
    });
  };
  process.on("unhandledRejection", onRejection).once("uncaughtException", onException);
  return () => {
    process.removeListener("unhandledRejection", onRejection).removeListener("uncaughtException", onException);
  };
}
