import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** The process that started something; without its owner it is an orphan. */
export interface Owner {
  /** Unique for one thread of one process. */
  id: string;
  host: string;
  pid: number;
  /** Start time of the process, because process ids are reused. */
  pidStart: string;
}

export const OWNER: Owner = {
  id: randomUUID(),
  host: hostname(),
  pid: process.pid,
  pidStart: processStart(process.pid) ?? "",
};

/**
 * False once the process is gone. An owner on another machine counts as alive, because it cannot be checked from here.
 */
export function isAlive({ host, pid, pidStart }: Owner): boolean {
  return host !== OWNER.host || processStart(pid) === pidStart;
}

/** The start time of a process as the platform writes it; undefined when there is none, or only a zombie. */
export function processStart(pid: number): string | undefined {
  try {
    if (process.platform === "linux") {
      // The command name in parentheses may itself contain parentheses and spaces.
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      return fields[0] === "Z" ? undefined : fields[19];
    }
    if (process.platform === "win32") return process.kill(pid, 0) ? "running" : undefined;
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined;
  }
}
