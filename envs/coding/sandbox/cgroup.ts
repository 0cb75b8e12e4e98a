import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Limits } from "./limits.js";

/** The limits of one sandbox as a whole. */
export interface Cgroup {
  add(pid: number): void;
  /** To be called when its processes have ended. */
  remove(): Promise<void>;
}

export interface Cgroups {
  create(): Cgroup;
}

const ROOT = "/sys/fs/cgroup";
const PREFIX = "openenv-sandbox-";
/** The interpreter itself, and the temporary files, which are memory. */
const OVERHEAD_BYTES = 192 * 1024 * 1024;
const REMOVAL_TRIES = 20;

interface Place {
  /** The folder new groups are made in. */
  parent: string;
  /** Files and what is written to them; without the first, the group is of no use. */
  settings: [file: string, value: string][];
}

/** Undefined where this process may not make cgroups, as in most containers. */
export function findCgroups({ memoryBytes, processes }: Limits): Cgroups | undefined {
  const memory = String(memoryBytes + OVERHEAD_BYTES);
  const places = [
    findPlace("", [
      ["pids.max", String(processes)],
      ["memory.max", memory],
      ["memory.swap.max", "0"],
    ]),
    findPlace("pids", [["pids.max", String(processes)]]),
    findPlace("memory", [["memory.limit_in_bytes", memory]]),
  ].filter((place) => place !== undefined);
  for (const { parent } of places) removeAbandoned(parent);
  return places.length === 0 ? undefined : { create: () => createCgroup(places) };
}

/** Version 2 has one tree, which has no name, version 1 one for each controller. */
function findPlace(tree: string, settings: Place["settings"]): Place | undefined {
  const path = pathOf(tree);
  if (path === undefined) return undefined;
  const root = join(ROOT, tree);
  // In a container the path may be that of the host, while the tree begins with the container's own group.
  for (const parent of new Set([join(root, path), dirname(join(root, path)), root])) {
    // Where both versions are mounted, the root of the first is no cgroup at all.
    if (!parent.startsWith(root) || !existsSync(join(parent, "cgroup.procs"))) continue;
    if (tree === "") write(join(parent, "cgroup.subtree_control"), "+pids +memory");
    const trial = makeFolder({ parent, settings }, `${PREFIX}${process.pid}-trial`);
    if (trial === undefined) continue;
    removeFolder(trial);
    return { parent, settings };
  }
  return undefined;
}

function pathOf(tree: string): string | undefined {
  try {
    for (const row of readFileSync("/proc/self/cgroup", "utf8").split("\n")) {
      const [, names = "", path] = /^\d+:([^:]*):(.*)$/.exec(row) ?? [];
      if (path !== undefined && names.split(",").includes(tree)) return path;
    }
  } catch {
    // No cgroups on this machine.
  }
  return undefined;
}

function createCgroup(places: Place[]): Cgroup {
  const name = `${PREFIX}${process.pid}-${randomUUID()}`;
  const folders = places.map((place) => makeFolder(place, name)).filter((folder) => folder !== undefined);
  return {
    add(pid) {
      for (const folder of folders) write(join(folder, "cgroup.procs"), String(pid));
    },
    async remove() {
      for (const folder of folders) {
        // A group stays busy for a moment after its last process has ended.
        for (let tries = 0; tries < REMOVAL_TRIES && !removeFolder(folder); tries += 1) await sleep(10);
      }
    },
  };
}

/** Undefined when the group cannot be made or limited. */
function makeFolder({ parent, settings }: Place, name: string): string | undefined {
  const folder = join(parent, name);
  try {
    mkdirSync(folder);
  } catch {
    return undefined;
  }
  const written = settings.map(([file, value]) => write(join(folder, file), value));
  if (written[0]) return folder;
  removeFolder(folder);
  return undefined;
}

function write(file: string, text: string): boolean {
  try {
    writeFileSync(file, text);
    return true;
  } catch {
    return false;
  }
}

function removeFolder(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/** Of servers that were killed. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    removeFolder(join(parent, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
