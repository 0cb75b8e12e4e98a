import { toError } from "../../session/failure.js";
import type { Logger } from "../logging/logger.js";

/**
 * What author code leaves behind must not take every session along. A rejection that nobody listened to is logged, and
 * the server goes on. After an exception outside any call nothing is certain any more: peers are told by a close code,
 * and the process ends with 1. The result takes the guards back.
 */
export function onCrash(log: Logger, farewell: () => Promise<void>): () => void {
  const onRejection = (reason: unknown): void => {
    log.error({ err: toError(reason) }, "a promise was rejected and nobody listened: an environment left it behind");
  };
  const onException = (error: unknown): void => {
    log.error({ err: toError(error) }, "an exception outside any call: the process ends");
    void farewell().finally(() => {
      log.flush();
      process.exit(1);
    });
  };
  process.on("unhandledRejection", onRejection).once("uncaughtException", onException);
  return () => {
    process.removeListener("unhandledRejection", onRejection).removeListener("uncaughtException", onException);
  };
}
