import { readdirSync, readFileSync } from "node:fs";
import { findServerProcesses } from "../../src/bench/burst/local-server.js";

/** Descriptors that a process has open now; none when it has ended. */
export function openDescriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** The processes behind a URL and what each has open, the one with the lowest number first. */
export function serverDescriptors(url: string): { pid: number; open: number }[] {
  const pids = findServerProcesses(Number(new URL(url).port)).sort((a, b) => a - b);
  return pids.map((pid) => ({ pid, open: openDescriptors(pid) }));
}

/** The processes of a group that have not ended. */
export function processesOfGroup(group: number): number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // Behind the name in parentheses: state, parent, group.
      const [state, , itsGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(itsGroup) === group && state !== "Z";
    } catch {
      return false;
    }
  });
}
