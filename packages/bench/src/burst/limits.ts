import { readFileSync } from "node:fs";
import { ConfigError, descriptorLimit } from "openenv-ts/internal";

/** Descriptors that a process needs beside its connections. */
const RESERVED = 100;
const MAX_PROCESSES = 64;

/**
 * How many generator processes a batch takes: `asked`, or else as many as the descriptor limit makes necessary.
 * @throws ConfigError when so many connections do not fit.
 */
export function planProcesses(batch: number, asked?: number, limit = descriptorLimit()): number {
  const room = Math.max(1, limit - RESERVED);
  const needed = Math.max(1, Math.ceil(batch / room));
  if (asked !== undefined && asked < needed) {
    throw new ConfigError(
      `${batch} connections do not fit in ${asked} generator process${asked === 1 ? "" : "es"}: each may open ${limit} ` +
        `descriptors (ulimit -n). Give --processes ${needed}, raise the limit, or take a smaller batch.`,
    );
  }
  if (needed > MAX_PROCESSES) {
    throw new ConfigError(
      `${batch} connections would take ${needed} generator processes of ${limit} descriptors each (ulimit -n), and ` +
        `${MAX_PROCESSES} is the most: raise the limit, or take a smaller batch.`,
    );
  }
  return asked ?? needed;
}

/** How many connections one source address can have to one server; Infinity when nothing says so. */
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
