import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { FleetLog } from "./options.js";

const ROOT = "/sys/fs/cgroup";
const PREFIX = "openenv-upstream-";
const TRIAL = `${PREFIX}trial-${process.pid}`;

/** Bounds the memory of processes, each in a cgroup below that of this process. */
export interface MemoryLimit {
  /** Moves a new process, and all that it starts, into a cgroup. */
  add(pid: number): void;
  /** Continues the reason of an end, when the kernel has ended a process of the cgroup. */
  explain(pid: number): string;
  /** Call it when its processes have ended. */
  remove(pid: number): void;
}

/** Undefined without cgroups, or the right to create them: a line in the log says that the limit is not enforced. */
export function createMemoryLimit(mib: number, log: FleetLog): MemoryLimit | undefined {
  const isNew = existsSync(join(ROOT, "cgroup.controllers"));
  const [tree, limit, events] = isNew
    ? ["", "memory.max", "memory.events"]
    : ["memory", "memory.limit_in_bytes", "memory.oom_control"];
  const create = (folder: string): void => {
    mkdirSync(folder);
    writeFileSync(join(folder, limit), String(mib * 1024 * 1024));
    if (isNew) writeFileSync(join(folder, "memory.swap.max"), "0");
  };
  let problem: unknown;
  const canCreate = (parent: string): boolean => {
    try {
      // A server that was killed has left its own; those with processes stay.
      for (const name of readdirSync(parent)) if (name.startsWith(PREFIX)) remove(join(parent, name));
      if (isNew) writeFileSync(join(parent, "cgroup.subtree_control"), "+memory");
      create(join(parent, TRIAL));
      return true;
    } catch (error) {
      problem ??= error;
      return false;
    } finally {
      remove(join(parent, TRIAL));
    }
  };
  const own = join(ROOT, tree, ownPath(tree));
  // In version 2, a cgroup with processes has no children with limits, but may have siblings.
  const parent = [own, dirname(own)].find((folder) => folder.startsWith(join(ROOT, tree)) && canCreate(folder));
  if (parent === undefined) {
    log.warn({ error: String(problem) }, "memoryLimitMb is not enforced: this process may not create cgroups");
    return undefined;
  }
  const of = (pid: number): string => join(parent, `${PREFIX}${pid}`);
  return {
    add(pid) {
      create(of(pid));
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
