import { idleSeconds, type ServerRuntime } from "#parts/sockets";
import { ConfigError } from "../../errors.js";
import type { Config } from "./config.js";

/** The bounds that Bun has for the idle time of a WebSocket, seconds. */
const MIN_IDLE_S = 8;
const MAX_IDLE_S = 960;
/** Deno counts the idle time of a WebSocket, two intervals, in whole seconds. */
const MIN_PING_MS = 500;
/** The largest message that Deno reads, bytes. */
const MAX_MESSAGE = 64 * 1024 * 1024;

/**
 * Refuses a setting that the runtime cannot keep, before anything is started.
 * @throws ConfigError that names the setting.
 */
export function checkRuntime(config: Config, runtime: ServerRuntime["name"]): void {
  if (runtime === "Node") return;
  refuseUnsupported(config, runtime);
  if (runtime === "Bun") checkBun(config);
  else checkDeno(config);
}

/** Neither Bun nor Deno can keep these. */
function refuseUnsupported({ workers, supervise, heapMb, isolation }: Config, runtime: string): void {
  if (workers > 1 || supervise) {
    const setting = workers === 1 ? "supervise is true" : `WORKERS is ${workers}`;
    throw new ConfigError(
      `${setting}, but a server on ${runtime} is one process: set it to ${workers === 1 ? "false" : "1"}, and start several ` +
        "servers behind a balancer: openenv deploy renders the configuration of HAProxy.",
    );
  }
  if (heapMb !== undefined) {
    throw new ConfigError(
      `HEAP_MB is ${heapMb}, but a server on ${runtime} cannot set the limit of its heap: remove HEAP_MB, and limit the ` +
        "memory of the process or container.",
    );
  }
  // It is ignored, or ends the process.
  if (isolation?.kind === "thread" && isolation.isolateMemoryMb !== undefined) {
    throw new ConfigError(
      `ISOLATE_MEMORY_MB is ${isolation.isolateMemoryMb}, but ${runtime} does not keep a memory limit of threads: set ` +
        "ISOLATION to process, or remove the limit.",
    );
  }
}

function checkBun({ pingIntervalMs }: Config): void {
  const idleTime = idleSeconds(pingIntervalMs);
  if (idleTime >= MIN_IDLE_S && idleTime <= MAX_IDLE_S) return;
  throw new ConfigError(
    `PING_INTERVAL is ${pingIntervalMs / 1000}, but on Bun it must be from ${MIN_IDLE_S / 2} to ${MAX_IDLE_S / 2}: ` +
      `a peer that misses two pings is idle for twice as long, and Bun closes idle sockets after ${MIN_IDLE_S} to ${MAX_IDLE_S} s.`,
  );
}

function checkDeno({ pingIntervalMs, maxMessageBytes }: Config): void {
  if (pingIntervalMs < MIN_PING_MS) {
    throw new ConfigError(
      `PING_INTERVAL is ${pingIntervalMs / 1000}, but on Deno it must be at least ${MIN_PING_MS / 1000}: Deno ` +
        "closes idle sockets after whole seconds, and a peer that misses two pings is idle for twice as long.",
    );
  }
  if (maxMessageBytes <= MAX_MESSAGE) return;
  throw new ConfigError(
    `MAX_MESSAGE_BYTES is ${maxMessageBytes}, but Deno reads no message of more than ${MAX_MESSAGE} bytes.`,
  );
}
