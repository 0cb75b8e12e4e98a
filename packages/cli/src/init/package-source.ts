import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ConfigError } from "openenv-ts/internal";

/** How a new package gets the `openenv-ts` that runs now. */
export interface PackageSource {
  /** What stands in its dependencies: a version of the registry, or `file:vendor/openenv-ts-0.1.0.tgz`. */
  spec: string;
  /** Of the packed file, as a lock file has it; undefined where the registry has it. */
  integrity?: string;
}

/** What is read and changed of a package.json. */
export interface PackageManifest {
  dependencies: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** The folder of this package: of a checkout, or inside of node_modules. */
export const PACKAGE_ROOT = fileURLToPath(new URL("../../../openenv/", import.meta.url)).replace(/[\\/]$/, "");

const NAME = "openenv-ts";
const VENDOR = "vendor";
/** It takes two seconds, and much longer on a machine that is busy. */
const TIMEOUT_MS = 300_000;

/**
 * Decides where the package in `dir` takes `openenv-ts` from. A version that no registry has is packed into
 * `vendor/` of that folder, so that the folder alone can be installed, built and uploaded.
 * @throws ConfigError when npm does not pack it.
 */
export async function addPackage(dir: string, signal?: AbortSignal): Promise<PackageSource> {
  const { version } = JSON.parse(await readFile(join(PACKAGE_ROOT, "package.json"), "utf8")) as { version: string };
  if (await isFromRegistry()) return { spec: version };
  const file = `${NAME}-${version}.tgz`;
  const target = join(dir, VENDOR);
  await mkdir(target, { recursive: true });
  await rm(join(target, file), { force: true });
  await pack(target, signal);
  const integrity = `sha512-${createHash("sha512")
    .update(await readFile(join(target, file)))
    .digest("base64")}`;
  return { spec: `file:${VENDOR}/${file}`, integrity };
}

/**
 * Names the source in a package.json. A packed openenv-ts cannot be installed by who installs that package from git, and
 * its client does not need it: so there it is optional.
 */
export function dependOn(manifest: PackageManifest, { spec, integrity }: PackageSource): void {
  if (integrity === undefined) {
    manifest.dependencies[NAME] = spec;
  } else {
    delete manifest.dependencies[NAME];
    manifest.optionalDependencies = { ...manifest.optionalDependencies, [NAME]: spec };
  }
}

/** Not from there: a checkout, and what was installed from a packed file or a folder. */
async function isFromRegistry(): Promise<boolean> {
  if (existsSync(join(PACKAGE_ROOT, "src"))) return false;
  const modules = dirname(PACKAGE_ROOT);
  if (basename(modules) !== "node_modules") return false;
  const installed = await readFile(join(modules, ".package-lock.json"), "utf8").catch(() => undefined);
  if (installed === undefined) return true;
  const { packages } = JSON.parse(installed) as { packages?: Record<string, { resolved?: string }> };
  return packages?.[`node_modules/${NAME}`]?.resolved?.startsWith("file:") !== true;
}

async function pack(target: string, signal: AbortSignal | undefined): Promise<void> {
  if (!existsSync(join(PACKAGE_ROOT, "dist"))) throw new ConfigError("openenv-ts is not built; run: npm run build");
  const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", target];
  try {
    await promisify(execFile)("npm", args, {
      cwd: PACKAGE_ROOT,
      timeout: TIMEOUT_MS,
      ...(signal && { signal }),
      shell: sep === "\\",
    });
  } catch (error) {
    const { stderr = "", message } = error as { stderr?: string; message: string };
    const reason = (stderr.trim().split("\n").at(-1) || message).trim();
    throw new ConfigError(`npm could not pack openenv-ts (${reason}); check that npm is installed.`, { cause: error });
  }
}
