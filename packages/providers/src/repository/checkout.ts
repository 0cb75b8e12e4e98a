import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { ProviderError } from "openenv-ts";
import type { Space } from "../hub/find-space.js";
import { registerOrphans } from "../orphans/reaper.js";
import { repositoryCache } from "./cache.js";
import { cloneInto } from "./clone.js";
import type { GitSource } from "./git-source.js";
import { runTool } from "./run-tool.js";
import { createUnfinished } from "./unfinished.js";

export type RepositorySource = { space: Space; token: string | undefined } | { git: GitSource };

/** The checkout of an environment's repository, with its packages installed for Node. */
export interface Checkout {
  dir: string;
  runtime: "node" | "python";
}

export interface CheckoutOptions {
  signal: AbortSignal;
  progress?: ((stage: string) => void) | undefined;
}

/**
 * Downloads one commit of a repository into the cache folder, installs the packages of a Node environment and returns
 * the folder. A commit in the cache is reused; an unfinished checkout is not visible to other processes.
 * @throws ProviderError when the repository is not available, has a path outside its folder, is not an environment, or
 * cannot be installed; ConfigError for an invalid manifest.
 */
export async function checkOut(source: RepositorySource, options: CheckoutOptions): Promise<Checkout> {
  const name = "space" in source ? source.space.id : source.git.url;
  const folder = join(repositoryCache(), slug(name));
  if ("space" in source) {
    const known = join(folder, source.space.sha);
    if (existsSync(known)) return await describe(known, name);
  }
  const release = registerOrphans({ ...ORPHANS, options: repositoryCache() });
  const work = await createUnfinished(folder, name);
  try {
    const commit = await bring(source, work.dir, options);
    const place = join(folder, commit);
    if (!existsSync(place)) {
      const { runtime } = await describe(work.dir, name);
      if (runtime === "node") await install(work.dir, name, options);
      const skipped = await findSkippedScripts(work.dir);
      await moveTo(place, work.dir);
      if (skipped.length > 0) {
        options.progress?.(
          `install scripts of ${skipped.join(", ")} did not run. If the environment needs them and you trust them, run ` +
            `npm rebuild ${skipped.join(" ")} in ${place}`,
        );
      }
    }
    return await describe(place, name);
  } finally {
    await work.remove();
    release();
  }
}

const ORPHANS = {
  module: new URL("./unfinished.js", import.meta.url).href,
  factory: "createCheckoutOrphanFinder" satisfies keyof typeof import("./unfinished.js"),
};

async function bring(source: RepositorySource, work: string, { signal, progress }: CheckoutOptions): Promise<string> {
  if ("git" in source) {
    progress?.(`cloning ${source.git.url}`);
    return await cloneInto(work, source.git, signal);
  }
  const { space, token } = source;
  progress?.(`downloading the Space ${space.id}`);
  const { downloadSpace } = await import("../hub/download-space.js");
  await downloadSpace(space, work, { token, signal });
  return space.sha;
}

/**
 * Runs no script of the folder or of its dependencies. The options override an `.npmrc` of the folder, which could set
 * a program of the folder as git or install outside of it.
 */
async function install(dir: string, source: string, { signal, progress }: CheckoutOptions): Promise<void> {
  progress?.("installing packages");
  const command = existsSync(join(dir, "package-lock.json")) ? "ci" : "install";
  const safe = ["--ignore-scripts", "--git=git", "--no-global", "--location=project"];
  await runTool("npm", [command, "--omit=dev", ...safe, "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: dir,
    source,
    signal,
    missing: "Install npm, which comes with Node.",
  });
}

/**
 * The packages in `dir` whose install scripts did not run. Their names become part of a command, so unusual names are
 * skipped.
 */
async function findSkippedScripts(dir: string): Promise<string[]> {
  const text = await readFile(join(dir, "node_modules/.package-lock.json"), "utf8").catch(() => '{ "packages": {} }');
  const { packages } = JSON.parse(text) as { packages: Record<string, { hasInstallScript?: boolean }> };
  const names = Object.keys(packages)
    .filter((path) => packages[path]?.hasInstallScript === true)
    .map((path) => path.split("node_modules/").at(-1) ?? "");
  return [...new Set(names)].filter((name) => /^(?:@[\w.-]+\/)?\w[\w.-]*$/.test(name));
}

async function describe(dir: string, name: string): Promise<Checkout> {
  const has = (file: string): boolean => existsSync(join(dir, file));
  // Loaded lazily: code that only connects needs neither YAML nor zod.
  const { findManifest } = await import("../manifest/read-manifest.js");
  const manifest = await findManifest(dir);
  const python = has("pyproject.toml") && (!has("package.json") || manifest?.runtime === "fastapi");
  if (python || has("package.json")) return { dir, runtime: python ? "python" : "node" };
  throw new ProviderError(
    "SOURCE_NOT_FOUND",
    `${name} is not an environment: it has neither a package.json nor a pyproject.toml at its root.`,
  );
}

/** Another process may have finished the same commit in the meantime. */
async function moveTo(place: string, work: string): Promise<void> {
  try {
    await rename(work, place);
  } catch (error) {
    if (!existsSync(place)) throw error;
  }
}

function slug(name: string): string {
  const readable = name.replace(/^[a-z+]+:\/\//, "").replace(/[^A-Za-z0-9]+/g, "-");
  return `${readable.slice(0, 60)}-${createHash("sha256").update(name).digest("hex").slice(0, 12)}`;
}
