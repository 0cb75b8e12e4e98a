import { readFileSync } from "node:fs";
import { ConfigError, descriptorLimit } from "openenv-ts/internal";

/** File descriptors that a process needs besides its connections. */
const RESERVED = 100;
const MAX_PROCESSES = 64;

/**
 * The number of generator processes for a batch: `asked`, or as many as the descriptor limit requires.
 * @throws ConfigError when the connections do not fit.
 */
export function planProcesses(batch: number, asked?: number, limit = descriptorLimit()): number {
  const room = Math.max(1, limit - RESERVED);
  const needed = Math.max(1, Math.ceil(batch / room));
  if (asked !== undefined && asked < needed) {
    throw new ConfigError(
      `${batch} connections do not fit in ${asked} generator process${asked === 1 ? "" : "es"}: each may open ${limit} ` +
        `file descriptors (ulimit -n). Use --processes ${needed}, raise the limit, or use a smaller batch.`,
    );
  }
  if (needed > MAX_PROCESSES) {
    throw new ConfigError(
      `${batch} connections need ${needed} generator processes of ${limit} file descriptors each (ulimit -n), but ` +
        `${MAX_PROCESSES} is the maximum. Raise the limit, or use a smaller batch.`,
    );
  }
  return asked ?? needed;
}

/** The number of connections from one source address to one server; Infinity when it is unknown. */
export function portsOfAddress(): number {
  try {
    const [first, last] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8")
      .trim()
      .split(/\s+/)
      .map(Number);
    return last !== undefined && first !== undefined ? last - first + 1 : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
