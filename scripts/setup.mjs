/**
 * Makes a checkout ready to run: installs packages and builds, each only when missing or stale.
 * It runs before node_modules exists, so it imports nothing but node:.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { withLock } from "./lock.mjs";
import { ROOT } from "./root.mjs";

/** What compiles, each after what it uses. */
const LIBRARIES = ["openenv", "deploy", "providers", "bench", "cli"].map((name) => `packages/${name}`);
const WEB = "packages/web";
/** The page is made of these; it uses the sources of the library and not its build. */
const WEB_SOURCES = [WEB, ...["client", "contract", "protocol", "util"].map((room) => `packages/openenv/src/${room}`)];

if (process.argv[1] === import.meta.filename) await setup();

/**
 * Installs and builds what is stale; ends the process with the exit code of a step that fails. With `environment` only what
 * serving that folder of `envs` needs.
 */
export async function setup(environment) {
  const wanted = environment ? [...LIBRARIES, environment] : projects();
  const workspaces = environment ? [...wanted, WEB] : [];
  if (isInstalled(workspaces) && wanted.every(isBuilt) && isBuilt(WEB)) return;
  await withLock(join(ROOT, ".cache/setup.lock"), () => {
    const only = workspaces.flatMap((folder) => ["--workspace", folder]);
    if (!isInstalled(workspaces)) step("install packages", "npm", ["ci", "--include=dev", "--no-progress", ...only]);
    for (const project of wanted) if (!isBuilt(project)) build(project);
    if (!isBuilt(WEB)) buildWeb();
  });
}

/** The folders that compile to a `dist`: the packages first, then the environments that use them. */
function projects() {
  const envs = existsSync(join(ROOT, "envs")) ? readdirSync(join(ROOT, "envs")).sort() : [];
  return [...LIBRARIES, ...envs.map((name) => `envs/${name}`)].filter((dir) =>
    existsSync(join(ROOT, dir, "tsconfig.json")),
  );
}

/**
 * npm keeps a copy of the lock file it installed from; what it lacks or has in another version is stale. Where only some
 * workspaces are needed, what is there must be right, and they must be linked.
 */
function isInstalled(workspaces) {
  const installed = readJson("node_modules/.package-lock.json")?.packages;
  if (!installed) return false;
  const isPart = workspaces.length > 0;
  const linked = Object.values(installed).map(({ resolved }) => resolved);
  if (isPart && !workspaces.every((folder) => linked.includes(folder))) return false;
  return Object.entries(readJson("package-lock.json").packages).every(([path, wanted]) => {
    const found = installed[path];
    if (!path.startsWith("node_modules/") || (!found && (wanted.optional || isPart))) return true;
    return found !== undefined && found.version === wanted.version && found.link === wanted.link;
  });
}

function isBuilt(project) {
  const stamp = stampOf(project);
  if (!existsSync(join(ROOT, project, "dist")) || !existsSync(stamp)) return false;
  return readFileSync(stamp, "utf8") === fingerprint(project);
}

/** Compiles beside the old build and swaps, so that nobody ever loads half of one. */
function build(project) {
  const stamp = fingerprint(project);
  const fresh = join(ROOT, ".cache/build/fresh");
  rmSync(join(ROOT, ".cache/build"), { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  const own = `${project}/tsconfig.build.json`;
  const config = existsSync(join(ROOT, own)) ? own : project;
  const out = [
    "--outDir",
    fresh,
    ...(LIBRARIES.includes(project) ? ["--tsBuildInfoFile", `${fresh}.tsbuildinfo`] : []),
  ];
  step(`build ${project}`, process.execPath, ["node_modules/typescript/bin/tsc", "-p", config, ...out]);
  const data = join(ROOT, project, "data");
  // The build of an environment copies it, too.
  if (existsSync(data)) cpSync(data, join(fresh, "data"), { recursive: true });
  swap(fresh, project, stamp);
}

/** Builds the page with its compressed copies, and swaps it in like every build. */
function buildWeb() {
  const stamp = fingerprint(WEB);
  const fresh = join(ROOT, ".cache/build/web");
  rmSync(stampOf(WEB), { force: true });
  rmSync(fresh, { recursive: true, force: true });
  step(`build ${WEB}`, process.execPath, ["node_modules/vite/bin/vite.js", "build", WEB, "--outDir", fresh]);
  for (const file of readdirSync(fresh, { recursive: true })) compress(join(fresh, file));
  swap(fresh, WEB, stamp);
}

/** Puts a build where the old one is; the stamp says what it was made of. */
function swap(fresh, project, stamp) {
  const dist = join(ROOT, project, "dist");
  const old = join(ROOT, ".cache/build/old");
  rmSync(old, { recursive: true, force: true });
  rmSync(stampOf(project), { force: true });
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(fresh, dist);
  rmSync(old, { recursive: true, force: true });
  mkdirSync(join(ROOT, ".cache/built"), { recursive: true });
  writeFileSync(stampOf(project), stamp);
}

/** Once here instead of in every server for every visitor. */
function compress(file) {
  if (!/\.(js|css|html|svg)$/.test(file)) return;
  const bytes = readFileSync(file);
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(`${file}.br`, brotliCompressSync(bytes));
}

function stampOf(project) {
  return join(ROOT, ".cache/built", project.replaceAll("/", "-"));
}

/** Everything that decides what a build contains. */
function fingerprint(project) {
  const hash = createHash("sha256");
  const folders = project === WEB ? WEB_SOURCES : [project];
  for (const file of [...folders.flatMap(sources), "tsconfig.json", "package.json", "scripts/setup.mjs"]) {
    hash
      .update(`${file}\n`)
      .update(readFileSync(join(ROOT, file)))
      .update("\n");
  }
  return hash.digest("hex");
}

function sources(dir) {
  return readdirSync(join(ROOT, dir), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${dir}/${entry.name}`;
      if (entry.isDirectory()) return ["dist", "node_modules"].includes(entry.name) ? [] : sources(path);
      return /(?<!\.test|\.test-d)\.tsx?$|\.(css|html|svg)$|\/(tsconfig(\.build)?|package)\.json$|\/data\//.test(path)
        ? [path]
        : [];
    });
}

function step(name, command, args) {
  const start = performance.now();
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) {
    process.stderr.write(
      `${stdout ?? ""}${stderr ?? ""}set-up failed: ${name} (${error ?? signal ?? `exit ${status}`})\n`,
    );
    process.exit(status ?? 1);
  }
  process.stderr.write(`set-up: ${name}, ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
}

function readJson(file) {
  const path = join(ROOT, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}
