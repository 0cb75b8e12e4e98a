import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { ConfigError } from "openenv-ts/internal";
import { addPackages, dependOn, isOurs, type PackageManifest } from "../init/package-source.js";
import { describePath } from "../project/bundle.js";
import { findFiles } from "../push/find-files.js";

export interface StandaloneFolder extends AsyncDisposable {
  readonly dir: string;
}

/** A busy machine takes long to resolve the packages. */
const TIMEOUT_MS = 300_000;
const LOCK_FLAGS = [
  "--package-lock-only",
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--prefer-offline",
  "--omit-lockfile-registry-resolved",
  "--loglevel=error",
];

/**
 * Returns a folder that can be installed and built without any other. That is the folder itself, but for a package of an
 * npm workspace, whose versions are in the lock file of the workspace: then it is a temporary copy with a lock file of
 * the same versions and with our packages from where `openenv init` takes it. Disposal removes the copy.
 * @throws ConfigError for a dependency that only the workspace has, or that npm cannot resolve.
 */
export async function standaloneFolder(dir: string, signal?: AbortSignal): Promise<StandaloneFolder> {
  const workspace = await findWorkspace(dir);
  if (workspace === undefined) return { dir, [Symbol.asyncDispose]: async () => {} };
  const manifest = JSON.parse(await readFile(join(dir, "package.json"), "utf8")) as PackageManifest;
  rejectLinks(manifest, workspace);
  const copy = await mkdtemp(join(tmpdir(), "openenv-build-"));
  const remove = () => rm(copy, { recursive: true, force: true, maxRetries: 3 });
  try {
    for (const path of (await findFiles(dir)).paths) {
      await mkdir(dirname(join(copy, path)), { recursive: true });
      await cp(join(dir, path), join(copy, path));
    }
    dependOn(manifest, await addPackages(copy, signal));
    await writeFile(join(copy, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    await cp(workspace.lock, join(copy, "package-lock.json"));
    await resolveVersions(copy, dir, signal);
    return { dir: copy, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    signal?.throwIfAborted();
    throw error;
  }
}

interface Workspace {
  /** Path of its lock file. */
  lock: string;
  packages: Record<string, { link?: boolean }>;
}

/** The workspace that the folder is a package of; none where the folder has a lock file. */
async function findWorkspace(dir: string): Promise<Workspace | undefined> {
  if (existsSync(join(dir, "package-lock.json")) || !existsSync(join(dir, "package.json"))) return undefined;
  for (let folder = dirname(dir); ; folder = dirname(folder)) {
    const lock = join(folder, "package-lock.json");
    if (existsSync(lock)) {
      const { packages = {} } = JSON.parse(await readFile(lock, "utf8")) as Partial<Workspace>;
      return relative(folder, dir).replaceAll(sep, "/") in packages ? { lock, packages } : undefined;
    }
    if (folder === dirname(folder)) return undefined;
  }
}

function rejectLinks(
  { dependencies, devDependencies, optionalDependencies }: PackageManifest,
  { packages }: Workspace,
) {
  for (const name of Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })) {
    if (isOurs(name) || !packages[`node_modules/${name}`]?.link) continue;
    throw new ConfigError(
      `The dependency ${name} is a package of the same workspace, which an image cannot have; pack it into vendor/ and ` +
        `depend on file:vendor/${name.replaceAll("/", "-").replace("@", "")}.tgz, or on a published version.`,
    );
  }
}

/** npm keeps the versions of the lock file that it finds, and takes the rest out of it. */
async function resolveVersions(copy: string, dir: string, signal?: AbortSignal): Promise<void> {
  try {
    await promisify(execFile)("npm", ["install", ...LOCK_FLAGS], {
      cwd: copy,
      timeout: TIMEOUT_MS,
      ...(signal && { signal }),
      shell: sep === "\\",
    });
  } catch (cause) {
    const { stderr = "", message } = cause as { stderr?: string; message: string };
    const reason = /^npm error (?!code )(.*)$/m.exec(stderr)?.[1] ?? message;
    throw new ConfigError(
      `npm cannot resolve the dependencies of ${describePath(dir)} (${reason.trim()}); check them and the network.`,
      { cause },
    );
  }
}
