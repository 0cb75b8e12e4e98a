import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { ConfigError } from "openenv-ts/internal";
import { describePath } from "../project/bundle.js";
import type { Names } from "../project/names.js";
import { CLI_ROOT } from "../project/package-root.js";
import { adaptToBun } from "./for-bun.js";
import { addPackages, dependOn, type PackageManifest, type PackageSource } from "./package-source.js";

/** The environment to copy. It works as it is; its names are replaced in the copy. */
const TEMPLATE = join(CLI_ROOT, "templates/env");
const TEMPLATE_NAMES: Names = {
  kebab: "counter-game",
  module: "counter_game",
  prefix: "CounterGame",
  title: "Counter Game",
};
/** Build outputs that may exist in the template folder of a checkout. */
const BUILD_OUTPUTS = new Set(["node_modules", "dist", "build", ".openenv", "__pycache__"]);

export interface CreatedEnvironment {
  /** Absolute. */
  dir: string;
  /** Relative to `dir`, with slashes, sorted. */
  files: string[];
}

/**
 * Creates an environment in `dir`, which must be missing or empty. On failure nothing is created.
 * @throws ConfigError when the folder is not empty or cannot be written; the reason of the signal when aborted.
 */
export async function createEnvironment(
  names: Names,
  { dir, runtime }: { dir: string; runtime: "node" | "bun" },
  signal: AbortSignal,
): Promise<CreatedEnvironment> {
  const target = resolve(dir);
  await rejectUsed(target);
  const parent = dirname(target);
  const draft = join(parent, `.${basename(target)}-${randomUUID()}`);
  try {
    await mkdir(draft, { recursive: true });
    const files = await copyTemplate(names, draft, runtime === "bun" ? adaptToBun : (_path, text) => text);
    await describeDependencies(draft, await addPackages(draft, signal));
    signal.throwIfAborted();
    await rmdir(target).catch(() => {});
    await rename(draft, target);
    return { dir: target, files: [...files, ...(await vendored(target))].sort() };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`Cannot write ${describePath(target)} (${(error as Error).message}); choose another folder.`);
  } finally {
    await rm(draft, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function rejectUsed(target: string): Promise<void> {
  let entries: string[];
  try {
    entries = await readdir(target);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return;
    const reason = code === "ENOTDIR" ? "it is a file" : message;
    throw new ConfigError(`Cannot write ${describePath(target)} (${reason}); choose another name or folder.`);
  }
  if (entries.length === 0) return;
  throw new ConfigError(`${describePath(target)} is not empty; choose another name, or another parent folder with -o.`);
}

async function copyTemplate(
  names: Names,
  target: string,
  adapt: (path: string, text: string) => string,
): Promise<string[]> {
  const files: string[] = [];
  for (const path of await list(TEMPLATE)) {
    // npm excludes .gitignore files from packages.
    const renamed = rewrite(path, names).replace(/(^|\/)gitignore$/, "$1.gitignore");
    const text = rewrite(adapt(path, await readFile(join(TEMPLATE, path), "utf8")), names);
    await mkdir(dirname(join(target, renamed)), { recursive: true });
    await writeFile(join(target, renamed), text);
    files.push(renamed);
  }
  return files;
}

async function list(root: string, below = ""): Promise<string[]> {
  const entries = await readdir(join(root, below), { withFileTypes: true });
  const found = entries
    .filter(({ name }) => !BUILD_OUTPUTS.has(name))
    .map(async (entry) => {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      return entry.isDirectory() ? await list(root, path) : [path];
    });
  return (await Promise.all(found)).flat();
}

function rewrite(text: string, names: Names): string {
  const { kebab, module, prefix, title } = TEMPLATE_NAMES;
  const replacements = new Map([
    [kebab, names.kebab],
    [module, names.module],
    [prefix, names.prefix],
    [title, names.title],
  ]);
  return text.replace(new RegExp([...replacements.keys()].join("|"), "g"), (found) => replacements.get(found) ?? found);
}

async function describeDependencies(dir: string, sources: readonly PackageSource[]): Promise<void> {
  await edit<PackageManifest>(join(dir, "package.json"), (manifest) => dependOn(manifest, sources));
  await edit<{ packages: Record<string, Record<string, unknown>> }>(join(dir, "package-lock.json"), ({ packages }) => {
    dependOn(packages[""] as unknown as PackageManifest, sources);
    for (const { name, spec, integrity } of sources) {
      const row = packages[`node_modules/${name}`];
      if (!row || integrity === undefined) continue;
      Object.assign(row, { resolved: spec, integrity }, row["dev"] === true ? {} : { optional: true });
    }
  });
}

async function edit<T>(file: string, change: (value: T) => void): Promise<void> {
  const value = JSON.parse(await readFile(file, "utf8")) as T;
  change(value);
  await writeFile(file, `${JSON.stringify(value, null, 2)}\n`);
}

async function vendored(dir: string): Promise<string[]> {
  const names = await readdir(join(dir, "vendor")).catch(() => []);
  return names.map((name) => `vendor/${name}`);
}
