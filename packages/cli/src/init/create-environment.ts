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
/** What `openenv init` can create: {@link TEMPLATE}, and what folders next to it change in it. */
export const TEMPLATES = ["game", "tools", "database"] as const;
export type TemplateName = (typeof TEMPLATES)[number];
/** A folder that changes the template has these files only with what it adds. */
const ADDITIONS = new Set(["package.json", "package-lock.json"]);
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
  { dir, template, runtime }: { dir: string; template: TemplateName; runtime: "node" | "bun" },
  signal: AbortSignal,
): Promise<CreatedEnvironment> {
  if (template === "database" && runtime === "bun") {
    throw new ConfigError("The template database has a package for Node; use --runtime node, or another template.");
  }
  const target = resolve(dir);
  await rejectUsed(target);
  const parent = dirname(target);
  const draft = join(parent, `.${basename(target)}-${randomUUID()}`);
  try {
    await mkdir(draft, { recursive: true });
    const files = await copyTemplate(template, names, draft, runtime === "bun" ? adaptToBun : (_path, text) => text);
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
  template: TemplateName,
  names: Names,
  target: string,
  adapt: (path: string, text: string) => string,
): Promise<string[]> {
  const files: string[] = [];
  for (const [path, original] of await readTemplate(template)) {
    // npm excludes .gitignore files from packages.
    const renamed = rewrite(path, names).replace(/(^|\/)gitignore$/, "$1.gitignore");
    const text = rewrite(adapt(path, original), names);
    await mkdir(dirname(join(target, renamed)), { recursive: true });
    await writeFile(join(target, renamed), text);
    files.push(renamed);
  }
  return files;
}

/** The text of each file by its path, before names are replaced. */
async function readTemplate(template: TemplateName): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const root of template === "game" ? [TEMPLATE] : [TEMPLATE, join(CLI_ROOT, "templates", template)]) {
    for (const path of await list(root)) {
      const text = await readFile(join(root, path), "utf8");
      const known = texts.get(path);
      texts.set(path, known !== undefined && ADDITIONS.has(path) ? add(known, text) : text);
    }
  }
  return texts;
}

type Sections = Record<string, Record<string, unknown> | string>;

/** Adds the dependencies of a package.json, and the rows of a package-lock.json, to those of another. */
function add(text: string, addition: string): string {
  const whole = JSON.parse(text) as Sections;
  for (const [key, added] of Object.entries(JSON.parse(addition) as Sections)) {
    const known = whole[key];
    if (typeof added === "string" || typeof known === "string") whole[key] = added;
    else whole[key] = sortKeys({ ...known, ...added });
  }
  return `${JSON.stringify(whole, null, 2)}\n`;
}

function sortKeys(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a.localeCompare(b, "en")));
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
