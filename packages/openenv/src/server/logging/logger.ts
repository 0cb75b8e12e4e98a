import { isatty } from "node:tty";
import pino from "pino";
import { shortenSessionId } from "../../session/session-info.js";
import type { Log, LogLevel } from "../../util/log.js";
import { LogWriter } from "./log-writer.js";
import { readableLines } from "./readable-log.js";

const FLUSH_MS = 250;
const STDERR = 2;

export interface Logger extends Log {
  /** Writes all buffered lines. */
  flush(): void;
  close(): void;
}

/**
 * Logs to standard error: readable lines on a terminal, JSON otherwise. Lines are written in blocks, so that a line for
 * each session is cheap.
 */
export function createLogger(level: LogLevel): Logger {
  // Reading the property makes a pipe non-blocking; Node has no other way to do this for a descriptor.
  void process.stderr;
  const blocks = new LogWriter(STDERR);
  const writer = isatty(STDERR) ? readableLines(blocks) : blocks;
  const logger = pino(
    {
      level,
      base: null,
      serializers: { session: (id: unknown) => (typeof id === "string" ? shortenSessionId(id) : id) },
    },
    writer,
  );
  const timer = setInterval(() => blocks.flush(), FLUSH_MS);
  timer.unref();
  const flush = (): void => blocks.flushSync();
  process.once("exit", flush);
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    flush,
    close() {
      clearInterval(timer);
      process.removeListener("exit", flush);
      flush();
    },
  };
}
