import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Where process ids mean the same: machines may have one name, and containers of a machine have ids of their own. */
const MACHINE = [hostname(), readBootId(), processSpace()].join(":").replaceAll("/", "_");

/**
 * The name of a process, by default this one, as an owner of sessions: `w3-<process>/<parent>/<host>`, with the prefix of the session ids of a
 * worker. A process is its id and, where /proc says it, its start time, because ids are used again.
 */
export function ownerName(prefix: string, pid: number = process.pid): string {
  return `${prefix}${processName(pid)}/${processName(process.ppid)}/${MACHINE}`;
}

/** True when an owner is a process on this machine that has ended; undefined for one that cannot be seen from here. */
export function hasEnded(owner: string): boolean | undefined {
  const [name = "", , host] = owner.split("/");
  if (host !== MACHINE) return undefined;
  const given = name.slice(name.lastIndexOf("-") + 1);
  const pid = Number(given.split(".")[0]);
  return !isRunning(pid) || processName(pid) !== given;
}

/** True when two owners are workers of one server. */
export function areSiblings(one: string, other: string): boolean {
  const parent = (owner: string): string => owner.slice(owner.indexOf("/"));
  return parent(one) === parent(other);
}

/** True when a server is the process of an owner, or the one that has started it as a worker. */
export function isServerOf(server: string, owner: string): boolean {
  const [process] = server.split("/");
  const [name = "", parent] = owner.split("/");
  return parent === process || name.slice(name.lastIndexOf("-") + 1) === process;
}

function processName(pid: number): string {
  return `${pid}.${startTime(pid)}`;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Ticks from the start of the machine to that of the process; empty without /proc. A zombie has ended. */
function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The fields after the name in parentheses: the first is the state, the 20th the start time.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? "ended" : (fields[19] ?? "");
  } catch {
    return "";
  }
}

/** Another one after each start of the machine; undefined without /proc. */
export function readBootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}

/** The namespace of process ids; empty without /proc. */
function processSpace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}
