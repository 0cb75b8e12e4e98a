import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "./options.js";

const ROOT = "/sys/fs/cgroup";
const PREFIX = "openenv-upstreams-";
const CONTROL = "cgroup.subtree_control";

/** Bounds the memory of processes, each in a cgroup below that of this process. */
export interface MemoryLimit {
  /** Moves a new process, and all that it starts, into a cgroup. */
  add(pid: number): void;
  /** Continues the reason of an end, when the kernel has ended a process of the cgroup. */
  explain(pid: number): string;
  /** To be called when its processes have ended. */
  remove(pid: number): void;
  close(): void;
}

/** Undefined without cgroups, or the right to create them: a line in the log says that the limit is not enforced. */
export function createMemoryLimit(mib: number, log: Log): MemoryLimit | undefined {
  const isNew = existsSync(join(ROOT, "cgroup.controllers"));
  const [tree, file, events] = isNew
    ? ["", "memory.max", "memory.events"]
    : ["memory", "memory.limit_in_bytes", "memory.oom_control"];
  const parent = join(ROOT, tree, ownPath(tree));
  const folder = join(parent, `${PREFIX}${process.pid}`);
  const of = (pid: number | string): string => join(folder, String(pid));
  const create = (name: number | string): void => {
    mkdirSync(of(name));
    writeFileSync(join(of(name), file), String(mib * 1024 * 1024));
    if (isNew) writeFileSync(join(of(name), "memory.swap.max"), "0");
  };
  try {
    removeAbandoned(parent);
    if (isNew) writeFileSync(join(parent, CONTROL), "+memory");
    mkdirSync(folder, { recursive: true });
    if (isNew) writeFileSync(join(folder, CONTROL), "+memory");
    create("trial");
    removeFolder(of("trial"));
  } catch (error) {
    removeFolder(folder);
    log.warn({ error: String(error) }, "memoryLimitMb is not enforced: this process may not create cgroups");
    return undefined;
  }
  return {
    add(pid) {
      create(pid);
      writeFileSync(join(of(pid), "cgroup.procs"), String(pid));
    },
    explain(pid) {
      const isFull = /^oom_kill [1-9]/m.test(readFileSync(join(of(pid), events), "utf8"));
      return isFull ? `: it used more than ${mib} MiB` : "";
    },
    remove: (pid) => removeFolder(of(pid)),
    close: () => removeFolder(folder),
  };
}

function ownPath(tree: string): string {
  const rows = readFileSync("/proc/self/cgroup", "utf8").split("\n");
  const row = rows.find((text) => text.split(":")[1]?.split(",").includes(tree));
  return row?.replace(/^\d+:[^:]*:/, "") ?? "";
}

/** The cgroups of servers that were killed. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent).filter((one) => one.startsWith(PREFIX))) {
    if (existsSync(`/proc/${name.slice(PREFIX.length)}`)) continue;
    const folder = join(parent, name);
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) removeFolder(join(folder, entry.name));
    removeFolder(folder);
  }
}

/** Fails while it has processes; those have been killed, or {@link removeAbandoned} removes it later. */
function removeFolder(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It is not empty, or gone.
  }
}
