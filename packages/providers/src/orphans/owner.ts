import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** The process that started something: it goes when its owner has gone. */
export interface Owner {
  /** One thread of one process. */
  id: string;
  host: string;
  pid: number;
  /** When the process began: a number that comes back belongs to another process. */
  pidStart: string;
}

export const OWNER: Owner = {
  id: randomUUID(),
  host: hostname(),
  pid: process.pid,
  pidStart: processStart(process.pid) ?? "",
};

/** False once the process is gone; what another machine started is taken for alive, as nobody can tell from here. */
export function isAlive({ host, pid, pidStart }: Owner): boolean {
  return host !== OWNER.host || processStart(pid) === pidStart;
}

/** When a process began, in words of the platform; nothing when there is none, or one that only waits to be reaped. */
export function processStart(pid: number): string | undefined {
  try {
    if (process.platform === "linux") {
      // The name in brackets may hold anything, brackets and spaces too.
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
