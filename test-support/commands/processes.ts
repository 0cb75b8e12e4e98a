import { readdirSync, readFileSync } from "node:fs";
import { findListeners, findServerProcesses } from "../../packages/bench/src/burst/local-server.js";

/** The number of open descriptors of a process; 0 when it has ended. */
export function openDescriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** The processes behind a URL and their open descriptors, lowest pid first. */
export function serverDescriptors(url: string): { pid: number; open: number }[] {
  const pids = findServerProcesses(Number(new URL(url).port)).sort((a, b) => a - b);
  return pids.map((pid) => ({ pid, open: openDescriptors(pid) }));
}

/** The local socket of each worker that listens at a URL, once the worker listens there too; empty without /proc. */
export function workerSockets(url: string): string[] {
  return findListeners(Number(new URL(url).port)).flatMap((pid) => {
    const variables = environmentOf(pid);
    const [number, folder] = ["NUMBER", "SOCKETS"].map((name) => variables.get(`OPENENV_WORKER_${name}`));
    return number === undefined || folder === undefined ? [] : [`${folder}/w${number}.sock`];
  });
}

/** The variables that a process was started with; empty when it has ended. */
function environmentOf(pid: number): Map<string, string> {
  try {
    const entries = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    return new Map(entries.map((entry) => [entry.replace(/=.*/s, ""), entry.replace(/^[^=]*=/, "")]));
  } catch {
    return new Map();
  }
}

/** The running processes of a group. */
export function processesOfGroup(group: number): number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // The fields after the name in parentheses: state, parent, group.
      const [state, , itsGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(itsGroup) === group && state !== "Z";
    } catch {
      return false;
    }
  });
}
