import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { promisify } from "node:util";
import { ConfigError } from "openenv-ts/internal";
import { describePath } from "../project/bundle.js";
import { CLI, CLI_ROOT, packageRoot } from "../project/package-root.js";

/** Where a new package gets the running version of our packages from. */
export interface PackageSource {
  name: string;
  /** The entry in its dependencies: a version in the registry, or `file:vendor/openenv-ts-0.1.0.tgz`. */
  spec: string;
  /** Integrity of the packed file, in the format of a lock file; undefined for a version in the registry. */
  integrity?: string;
}

/** The fields of a package.json that are read or changed. */
export interface PackageManifest {
  dependencies: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** What an environment runs with. */
const RUNTIME = ["openenv-ts", "@openenv-ts/web", "@openenv-ts/gateway"];
/** What it is developed with: the command, and what that depends on. */
const DEVELOPMENT = [CLI, ...["bench", "deploy", "providers", "upstream"].map((name) => `@openenv-ts/${name}`)];
const VENDOR = "vendor";
/** Takes two seconds, and much longer on a busy machine. */
const TIMEOUT_MS = 300_000;

/** True for a package that {@link addPackages} knows. */
export function isOurs(name: string): boolean {
  return RUNTIME.includes(name) || DEVELOPMENT.includes(name);
}

/**
 * Decides where the package in `dir` gets our packages from. A version that is not from a registry is packed into
 * `vendor/` of that folder, so that the folder can be installed, built and uploaded on its own.
 * @throws ConfigError when npm cannot pack them.
 */
export async function addPackages(dir: string, signal?: AbortSignal): Promise<PackageSource[]> {
  const { version } = JSON.parse(await readFile(join(CLI_ROOT, "package.json"), "utf8")) as { version: string };
  if (await isFromRegistry()) return [...RUNTIME, CLI].map((name) => ({ name, spec: version }));
  const names = [...RUNTIME, ...DEVELOPMENT];
  const target = join(dir, VENDOR);
  await mkdir(target, { recursive: true });
  const files = names.map((name) => `${name.replace("@", "").replace("/", "-")}-${version}.tgz`);
  await Promise.all(files.map((file) => rm(join(target, file), { force: true })));
  await pack(names.map(packageRoot), target, signal);
  return Promise.all(
    files.map(async (file, index) => ({
      name: names[index] as string,
      spec: `file:${VENDOR}/${file}`,
      integrity: `sha512-${createHash("sha512")
        .update(await readFile(join(target, file)))
        .digest("base64")}`,
    })),
  );
}

/**
 * Adds the sources to a package.json. What a packed package runs with is an optional dependency: it is missing when the
 * package is installed from git, and the client of the package does not need it.
 */
export function dependOn(manifest: PackageManifest, sources: readonly PackageSource[]): void {
  for (const { name, spec, integrity } of sources) {
    if (DEVELOPMENT.includes(name)) {
      manifest.devDependencies = { ...manifest.devDependencies, [name]: spec };
    } else if (integrity === undefined) {
      manifest.dependencies[name] = spec;
    } else {
      delete manifest.dependencies[name];
      manifest.optionalDependencies = { ...manifest.optionalDependencies, [name]: spec };
    }
  }
}

/** False for a checkout and for an installation from a packed file or a folder. */
async function isFromRegistry(): Promise<boolean> {
  if (existsSync(join(CLI_ROOT, "src"))) return false;
  const modules = dirname(dirname(CLI_ROOT));
  if (!modules.endsWith(`${sep}node_modules`)) return false;
  const installed = await readFile(join(modules, ".package-lock.json"), "utf8").catch(() => undefined);
  if (installed === undefined) return true;
  const { packages } = JSON.parse(installed) as { packages?: Record<string, { resolved?: string }> };
  return packages?.[`node_modules/${CLI}`]?.resolved?.startsWith("file:") !== true;
}

/**
 * `npm start` of a checkout builds without declarations, and a later commit may have added an entry: what depends on such
 * a package installs, but does not compile.
 */
async function rejectUnbuilt(folder: string): Promise<void> {
  const { exports } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { exports: unknown };
  const missing = ["./dist", ...listFiles(exports)].find((file) => !existsSync(join(folder, file)));
  if (missing === undefined) return;
  throw new ConfigError(`${describePath(folder)} is not built: ${missing} is missing; run: npm run build`);
}

/** What an export map publishes; its other condition, for development, has the sources. */
function listFiles(exports: unknown): string[] {
  if (typeof exports === "string") return [exports];
  const { "openenv-source": _source, ...published } = exports as Record<string, unknown>;
  return Object.values(published).flatMap(listFiles);
}

async function pack(folders: readonly string[], target: string, signal: AbortSignal | undefined): Promise<void> {
  await Promise.all(folders.map(rejectUnbuilt));
  const args = ["pack", ...folders, "--silent", "--ignore-scripts", "--pack-destination", target];
  try {
    await promisify(execFile)("npm", args, {
      cwd: target,
      timeout: TIMEOUT_MS,
      ...(signal && { signal }),
      shell: sep === "\\",
    });
  } catch (error) {
    const { stderr = "", message } = error as { stderr?: string; message: string };
    const reason = (stderr.trim().split("\n").at(-1) || message).trim();
    throw new ConfigError(`npm pack of openenv-ts failed (${reason}); check that npm is installed.`, { cause: error });
  }
}
