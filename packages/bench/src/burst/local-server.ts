import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { descriptorLimit } from "openenv-ts/internal";
import { cpuSeconds, residentBytes } from "../measure.js";

const LISTENING = "0A";

/**
 * The processes behind a port of this machine: who listens there, and the children of these. Empty where there is no
 * /proc, for a server of another user, and for one in this very process.
 */
export function findServerProcesses(port: number): number[] {
  const found = new Set(findListeners(port));
  if (found.size === 0 || found.has(process.pid)) return [];
  const parents = new Map(processes().map((pid) => [pid, parentOf(pid)]));
  for (const pid of [...found]) for (const child of descendants(pid, parents)) found.add(child);
  return [...found];
}

/** The processes that hold the listening socket of a port of this machine; empty where there is no /proc. */
export function findListeners(port: number): number[] {
  const inodes = listeningInodes(port);
  return inodes.size === 0 ? [] : processes().filter((pid) => holds(pid, inodes));
}

/** What the server has used so far; its processes are looked for again, as workers come and go. */
export function readServerUse(port: number): { processes: number; cpuSeconds: number; bytes: number } {
  const use = { processes: 0, cpuSeconds: 0, bytes: 0 };
  for (const pid of findServerProcesses(port)) {
    try {
      use.cpuSeconds += cpuSeconds(pid);
      use.bytes += residentBytes(pid);
      use.processes++;
    } catch {
      // It has ended since it was found.
    }
  }
  return use;
}

/** How many descriptors the processes of a server may open together. */
export function serverDescriptors(port: number): number {
  const pids = findServerProcesses(port);
  return pids.length === 0 ? Number.POSITIVE_INFINITY : pids.reduce((sum, pid) => sum + descriptorLimit(pid), 0);
}

function listeningInodes(port: number): Set<string> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const found = new Set<string>();
  for (const family of ["tcp", "tcp6"]) {
    for (const line of read(`/proc/net/${family}`).split("\n").slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === LISTENING && local?.endsWith(suffix) && inode !== undefined) found.add(`socket:[${inode}]`);
    }
  }
  return found;
}

function processes(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function holds(pid: number, inodes: ReadonlySet<string>): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((descriptor) => inodes.has(linkOf(`${folder}/${descriptor}`)));
  } catch {
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function parentOf(pid: number): number {
  return Number(
    read(`/proc/${pid}/stat`)
      .replace(/^.*\) /s, "")
      .split(" ")[1] ?? 0,
  );
}

/** A process and its children, theirs too. This process may be one of them: it and its own are no part of a server. */
function descendants(root: number, parents: ReadonlyMap<number, number>): Set<number> {
  const found = new Set([root]);
  for (let before = 0; before !== found.size; ) {
    before = found.size;
    for (const [pid, parent] of parents) if (found.has(parent) && pid !== process.pid) found.add(pid);
  }
  return found;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
