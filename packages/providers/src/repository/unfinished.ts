import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "openenv-ts/internal";
import type { Orphan, OrphanFinder } from "../orphans/orphan.js";
import { OWNER, type Owner } from "../orphans/owner.js";
import { repositoryCache } from "./cache.js";

const PREFIX = "new-";
const NOTE = ".json";

/** A folder for a checkout that is on its way, with a note beside it of whose it is. `remove` takes both away. */
export async function createUnfinished(folder: string, source: string) {
  const dir = join(folder, PREFIX + randomUUID());
  const note: Note = { source, startedAt: new Date().toISOString(), owner: OWNER };
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // First: there is no folder that nobody finds.
  await writeFile(dir + NOTE, JSON.stringify(note), { mode: 0o600 });
  await mkdir(dir, { mode: 0o700 });
  return { dir, remove: () => removeUnfinished(dir) };
}

/** Finds the checkouts in a cache folder that are on their way, or were when their owner ended. */
export function createCheckoutOrphanFinder(cache: string = repositoryCache()): OrphanFinder {
  return {
    async list() {
      const paths = await readdir(cache).catch(() => []);
      return (await Promise.all(paths.map((path) => listFolder(join(cache, path))))).flat();
    },
  };
}

async function listFolder(folder: string): Promise<Orphan[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith(PREFIX));
  const notes = names.filter((name) => name.endsWith(NOTE)).map((name) => join(folder, name));
  const found = await Promise.all(notes.map(describe));
  return found.filter((orphan) => orphan !== undefined);
}

interface Note {
  source: string;
  startedAt: string;
  owner: Owner;
}

async function describe(file: string): Promise<Orphan | undefined> {
  const dir = file.slice(0, -NOTE.length);
  try {
    const note: unknown = JSON.parse(await readFile(file, "utf8"));
    if (!isObject(note) || !isObject(note["owner"])) return undefined;
    const { source, startedAt, owner } = note as unknown as Note;
    const id = dir.slice(dir.lastIndexOf(PREFIX) + PREFIX.length).slice(0, 8);
    return { id, provider: "checkout", source, url: undefined, startedAt, owner, remove: () => removeUnfinished(dir) };
  } catch {
    // It was finished in this moment.
    return undefined;
  }
}

async function removeUnfinished(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  await rm(dir + NOTE, { force: true });
}
