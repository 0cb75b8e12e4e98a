/**
 * Makes a checkout ready to run: installs packages and builds, each only when missing or stale.
 * It runs before node_modules exists, so it imports nothing but node:.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withLock } from "./lock.mjs";
import { ROOT } from "./root.mjs";

const SWAGGER_FILES = ["swagger-ui.css", "swagger-ui-bundle.js", "LICENSE", "NOTICE"];

if (process.argv[1] === import.meta.filename) await setup();

/** Installs and builds what is stale; ends the process with the exit code of a step that fails. */
export async function setup() {
  if (isInstalled() && projects().every(isBuilt)) return;
  await withLock(join(ROOT, ".cache/setup.lock"), () => {
    if (!isInstalled()) step("install packages", "npm", ["ci", "--include=dev", "--no-progress"]);
    for (const project of projects()) if (!isBuilt(project)) build(project);
  });
}

/** The folders that compile to a `dist`: the package first, then the environments that use it. */
function projects() {
  const envs = existsSync(join(ROOT, "envs")) ? readdirSync(join(ROOT, "envs")).sort() : [];
  return ["openenv", ...envs.map((name) => `envs/${name}`)].filter((dir) =>
    existsSync(join(ROOT, dir, "tsconfig.json")),
  );
}

/** npm keeps a copy of the lock file it installed from; what it lacks or has in another version is stale. */
function isInstalled() {
  const installed = readJson("node_modules/.package-lock.json")?.packages;
  if (!installed) return false;
  return Object.entries(readJson("package-lock.json").packages).every(([path, wanted]) => {
    const found = installed[path];
    if (!path.startsWith("node_modules/") || (!found && wanted.optional)) return true;
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
  const old = join(ROOT, ".cache/build/old");
  rmSync(join(ROOT, ".cache/build"), { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  step(`build ${project}`, process.execPath, ["node_modules/typescript/bin/tsc", "-p", project, "--outDir", fresh]);
  if (project === "openenv") copySwagger(join(fresh, "assets/docs"));
  const dist = join(ROOT, project, "dist");
  rmSync(stampOf(project), { force: true });
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(fresh, dist);
  rmSync(old, { recursive: true, force: true });
  mkdirSync(join(ROOT, ".cache/built"), { recursive: true });
  writeFileSync(stampOf(project), stamp);
}

function stampOf(project) {
  return join(ROOT, ".cache/built", project.replace("/", "-"));
}

function copySwagger(target) {
  for (const file of SWAGGER_FILES) cpSync(join(ROOT, "node_modules/swagger-ui-dist", file), join(target, file));
}

/** Everything that decides what a build contains. */
function fingerprint(project) {
  const hash = createHash("sha256");
  for (const file of [...sources(project), "tsconfig.json", "package.json", "scripts/setup.mjs"]) {
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
      return /(?<!\.test|\.test-d)\.ts$|\/(tsconfig|package)\.json$/.test(path) ? [path] : [];
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
