import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "./options.js";

const ROOT = "/sys/fs/cgroup";
const PREFIX = "openenv-upstream-";

/** Bounds the memory of processes, each in a cgroup below that of this process. */
export interface MemoryLimit {
  /** Moves a new process, and all that it starts, into a cgroup. */
  add(pid: number): void;
  /** Continues the reason of an end, when the kernel has ended a process of the cgroup. */
  explain(pid: number): string;
  /** To be called when its processes have ended. */
  remove(pid: number): void;
}

/** Undefined without cgroups, or the right to create them: a line in the log says that the limit is not enforced. */
export function createMemoryLimit(mib: number, log: Log): MemoryLimit | undefined {
  const isNew = existsSync(join(ROOT, "cgroup.controllers"));
  const [tree, limit, events] = isNew
    ? ["", "memory.max", "memory.events"]
    : ["memory", "memory.limit_in_bytes", "memory.oom_control"];
  const parent = join(ROOT, tree, ownPath(tree));
  const of = (name: number | string): string => join(parent, PREFIX + name);
  const create = (name: number | string): void => {
    mkdirSync(of(name));
    writeFileSync(join(of(name), limit), String(mib * 1024 * 1024));
    if (isNew) writeFileSync(join(of(name), "memory.swap.max"), "0");
  };
  try {
    // A server that was killed has left its own; those with processes stay.
    for (const name of readdirSync(parent)) if (name.startsWith(PREFIX)) remove(join(parent, name));
    if (isNew) writeFileSync(join(parent, "cgroup.subtree_control"), "+memory");
    create("trial");
    remove(of("trial"));
  } catch (error) {
    log.warn({ error: String(error) }, "memoryLimitMb is not enforced: this process may not create cgroups");
    return undefined;
  }
  return {
    add(pid) {
      create(pid);
      writeFileSync(join(of(pid), "cgroup.procs"), String(pid));
    },
    explain(pid) {
      const file = join(of(pid), events);
      const isFull = existsSync(file) && /^oom_kill [1-9]/m.test(readFileSync(file, "utf8"));
      return isFull ? `: it used more than ${mib} MiB` : "";
    },
    remove: (pid) => remove(of(pid)),
  };
}

/** Version 1 has a tree for each controller, version 2 one that has no name. */
function ownPath(tree: string): string {
  const rows = existsSync("/proc/self/cgroup") ? readFileSync("/proc/self/cgroup", "utf8").split("\n") : [];
  const row = rows.find((text) => text.split(":")[1]?.split(",").includes(tree));
  return row?.replace(/^\d+:[^:]*:/, "") ?? "";
}

function remove(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It has processes, or is gone.
  }
}
