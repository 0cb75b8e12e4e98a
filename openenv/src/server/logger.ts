import pino from "pino";
import type { Log } from "./log.js";
import type { LogLevel } from "./types.js";

const FLUSH_MS = 250;
const BUFFER_BYTES = 15_000;

export interface Logger extends Log {
  /** Writes what is buffered. */
  flush(): void;
  close(): void;
}

/** JSON lines on standard error. They are written in blocks, so that a line per session stays cheap. */
export function createLogger(level: LogLevel): Logger {
  const destination = pino.destination({ fd: 2, sync: false, minLength: BUFFER_BYTES });
  const logger = pino({ level, base: null }, destination);
  const timer = setInterval(() => destination.flush(), FLUSH_MS);
  timer.unref();
  const flush = (): void => {
    try {
      destination.flushSync();
    } catch {
      // Nobody reads the log any more; a server does not stop for that.
    }
  };
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
