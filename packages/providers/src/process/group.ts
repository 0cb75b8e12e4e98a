import { setTimeout as sleep } from "node:timers/promises";
import { processStart } from "../orphans/owner.js";

const POLL_MS = 25;

/**
 * Ends a process and everything in its group: first asks, then kills. `pidStart` keeps it from another process
 * that has got the number since.
 */
export async function endGroup(pid: number, pidStart: string, graceMs: number): Promise<void> {
  if (processStart(pid) === pidStart) signalGroup(pid, "SIGTERM");
  const deadline = Date.now() + graceMs;
  while (Date.now() < deadline && processStart(pid) === pidStart) await sleep(POLL_MS);
  const current = processStart(pid);
  if (current === pidStart || current === undefined) signalGroup(pid, "SIGKILL");
  while (processStart(pid) === pidStart) await sleep(POLL_MS);
}

/** Nothing happens when there is no such group. A group outlives its leader as long as it has members. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // It is gone.
  }
}
