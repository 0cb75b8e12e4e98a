import { isatty } from "node:tty";
import pino from "pino";
import type { Log, LogLevel } from "../../util/log.js";
import { LogWriter } from "./log-writer.js";
import { readableLines } from "./readable-log.js";

const FLUSH_MS = 250;
const STDERR = 2;

export interface Logger extends Log {
  /** Writes what is buffered. */
  flush(): void;
  close(): void;
}

/**
 * Lines on standard error: readable ones on a terminal, JSON otherwise. They are written in blocks, so that a line per
 * session stays cheap.
 */
export function createLogger(level: LogLevel): Logger {
  // Reading the property makes a pipe non-blocking, which nothing else in Node does for a descriptor.
  void process.stderr;
  const blocks = new LogWriter(STDERR);
  const writer = isatty(STDERR) ? readableLines(blocks) : blocks;
  const logger = pino({ level, base: null, serializers: { session: shortenSessionId } }, writer);
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

/** An id is what lets a client into its session: the log has the start of it, as the page at /web shows it. */
function shortenSessionId(id: unknown): unknown {
  return typeof id === "string" ? /^(?:w\d+-)?.{0,8}/.exec(id)?.[0] : id;
}
