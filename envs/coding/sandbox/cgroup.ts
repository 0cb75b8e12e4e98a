import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SandboxLimits, TotalLimits } from "./limits.js";

/** The limits of one sandbox as a whole. */
export interface Cgroup {
  /** @throws Error when the process cannot be put under them. */
  add(pid: number): void;
  /** To be called when its processes have ended. */
  remove(): Promise<void>;
}

/** The limits of all sandboxes together, inside of which each has its own. */
export interface Cgroups {
  /** What they bound; a machine may let only some be set. */
  readonly bounds: ReadonlySet<Resource>;
  create(): Cgroup;
}

type Resource = "memory" | "processes";

const ROOT = "/sys/fs/cgroup";
const PREFIX = "openenv-sandbox-";
/** The interpreter itself, and the temporary files, which are memory. */
const OVERHEAD_BYTES = 192 * 1024 * 1024;
const REMOVAL_TRIES = 20;
const SUBTREE = "cgroup.subtree_control";
const CONTROLLERS = "+pids +memory";

interface Setting {
  file: string;
  bounds?: Resource;
  /** For one sandbox, and for all of them. */
  one: number;
  all: number;
}

interface Place {
  /** The group of all sandboxes, in which those of single ones are made. */
  parent: string;
  settings: Setting[];
}

/**
 * Undefined where this process may not make cgroups, as in most containers.
 * @param group what processes that share the limits of all sandboxes have in common: a process's id, a dash and a name.
 */
export async function findCgroups(
  limits: SandboxLimits,
  total: TotalLimits,
  group = `${process.pid}-${randomUUID()}`,
): Promise<Cgroups | undefined> {
  const pids: Setting = { file: "pids.max", bounds: "processes", one: limits.processes, all: total.processes };
  const memory = { bounds: "memory", one: limits.memoryBytes + OVERHEAD_BYTES, all: total.memoryBytes } as const;
  const version2 = [pids, { ...memory, file: "memory.max" }, { file: "memory.swap.max", one: 0, all: 0 }];
  const places = [
    await findPlace("", group, version2),
    await findPlace("pids", group, [pids]),
    await findPlace("memory", group, [{ ...memory, file: "memory.limit_in_bytes" }]),
  ].filter((place) => place !== undefined);
  if (places.length === 0) return undefined;
  const bounds = places.flatMap(({ settings }) => settings.map((setting) => setting.bounds));
  return { bounds: new Set(bounds.filter((bound) => bound !== undefined)), create: () => createCgroup(places) };
}

/** Version 2 has one tree, which has no name, version 1 one for each controller. */
async function findPlace(tree: string, group: string, settings: Setting[]): Promise<Place | undefined> {
  const path = pathOf(tree);
  if (path === undefined) return undefined;
  const root = join(ROOT, tree);
  // In a container the path may be that of the host, while the tree begins with the container's own group.
  for (const folder of new Set([join(root, path), dirname(join(root, path)), root])) {
    // Where both versions are mounted, the root of the first is no cgroup at all.
    if (!folder.startsWith(root) || !existsSync(join(folder, "cgroup.procs"))) continue;
    removeAbandoned(folder);
    if (tree === "") write(join(folder, SUBTREE), CONTROLLERS);
    const place = await makePlace(join(folder, PREFIX + group), settings);
    if (place) return place;
  }
  return undefined;
}

/** Undefined when a process cannot be put into a group in there, with at least one limit. */
async function makePlace(parent: string, settings: Setting[]): Promise<Place | undefined> {
  try {
    const place = { parent, settings: settings.filter((setting) => canLimit({ parent, settings: [setting] })) };
    const trial = makeGroup(place);
    const moved = await canMoveTo(trial);
    await removeGroup(trial);
    return moved && place.settings.some(({ bounds }) => bounds !== undefined) ? place : undefined;
  } catch {
    return undefined;
  }
}

function canLimit(place: Place): boolean {
  try {
    removeFolder(makeGroup(place));
    return true;
  } catch {
    return false;
  }
}

/**
 * The folder of a new group. That of all sandboxes is made with the first and removed with the last, in between which
 * another process of the server may want to make its own.
 */
function makeGroup(place: Place): string {
  for (;;) {
    mkdirSync(place.parent, { recursive: true });
    try {
      return makeGroupIn(place);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || existsSync(place.parent)) throw error;
    }
  }
}

function makeGroupIn({ parent, settings }: Place): string {
  const folder = join(parent, randomUUID());
  write(join(parent, SUBTREE), CONTROLLERS);
  try {
    mkdirSync(folder);
    for (const { file, one, all } of settings) {
      writeFileSync(join(parent, file), String(all));
      writeFileSync(join(folder, file), String(one));
    }
    return folder;
  } catch (error) {
    removeFolder(folder);
    removeFolder(parent);
    throw error;
  }
}

async function removeGroup(folder: string): Promise<void> {
  // A group stays busy for a moment after its last process has ended.
  for (let tries = 0; tries < REMOVAL_TRIES && !removeFolder(folder); tries += 1) await sleep(10);
  removeFolder(dirname(folder));
}

/** Who may make a group may still not be allowed to move processes into it. */
async function canMoveTo(folder: string): Promise<boolean> {
  const child = spawn("cat", { stdio: ["pipe", "ignore", "ignore"] });
  const ended = new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  const moved = child.pid !== undefined && write(join(folder, "cgroup.procs"), String(child.pid));
  child.kill("SIGKILL");
  await ended;
  return moved;
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
  const folders = places.map(makeGroup);
  return {
    add(pid) {
      for (const folder of folders) writeFileSync(join(folder, "cgroup.procs"), String(pid));
    },
    async remove() {
      await Promise.all(folders.map(removeGroup));
    },
  };
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
function removeAbandoned(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const group = join(folder, name);
    for (const entry of readdirSync(group, { withFileTypes: true })) {
      if (entry.isDirectory()) removeFolder(join(group, entry.name));
    }
    removeFolder(group);
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
