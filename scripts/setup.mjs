/**
 * Prepares a checkout: installs packages and builds, each only when missing or stale.
 * It runs before node_modules exists, so it only imports node: modules.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { withLock } from "./lock.mjs";
import { ROOT } from "./root.mjs";

const CORE = "packages/openenv";
/** Private packages that the build of openenv-ts contains as `dist/parts/<name>`: those that it uses. */
const USED_PARTS = ["packages/sockets"];
/** Those that use it, and that it loads if they are there. */
export const OPTIONAL_PARTS = ["cluster", "durable", "isolation", "rollouts"]
  .map((name) => `packages/${name}`)
  .filter((folder) => existsSync(join(ROOT, folder, "package.json")));
/** What compiles, each after what it uses. */
const LIBRARIES = [
  ...USED_PARTS,
  CORE,
  ...OPTIONAL_PARTS,
  ...["deploy", "providers", "bench", "gateway", "otel", "upstream", "cli"].map((name) => `packages/${name}`),
];
const WEB = "packages/web";
/** What is installed to serve. The other libraries are dependencies of the command line. */
const SERVING = ["packages/cli", WEB];
/** The page is made of these; it uses the sources of the library and not its build. */
const WEB_SOURCES = [WEB, ...["client", "contract", "protocol", "util"].map((room) => `packages/openenv/src/${room}`)];

if (process.argv[1] === import.meta.filename) await setup();

/** Installs and builds what is stale; ends the process with the exit code of a step that fails. */
export async function setup() {
  const wanted = projects();
  if (isInstalled() && wanted.every(isBuilt) && isBuilt(WEB)) return;
  await withLock(join(ROOT, ".cache/setup.lock"), async () => {
    if (!isInstalled()) await install();
    for (const project of wanted) if (!isBuilt(project)) await build(project);
    if (!isBuilt(WEB)) await buildWeb();
  });
}

/**
 * Like {@link setup}, but only what the command line needs to serve an environment, which it compiles itself. What is not
 * built is transpiled in a second, without types and their check, until `setup` builds it.
 */
export async function setupServing() {
  const isReady = (project) => isBuilt(project) || isTranspiled(project);
  if (isInstalled(SERVING) && LIBRARIES.every(isReady) && isBuilt(WEB)) return;
  await withLock(join(ROOT, ".cache/setup.lock"), async () => {
    // Without peers, which are optional here: clients of Kubernetes and of databases, drawing of figures.
    const only = ["--legacy-peer-deps", ...SERVING.flatMap((folder) => ["--workspace", folder])];
    if (!isInstalled(SERVING)) await install(...only);
    const page = isBuilt(WEB) ? undefined : buildWeb();
    await transpile(LIBRARIES.filter((project) => !isReady(project)));
    await page;
  });
}

async function install(...options) {
  // What `npm start` has installed stays, and the rest is added to it. Unlike `npm ci`, this does not fail when package.json
  // and the lock file disagree.
  const how = isInstalled(SERVING) ? ["install", "--no-save"] : ["ci"];
  await step("install packages", "npm", [...how, "--include=dev", "--no-progress", ...options]);
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
function isInstalled(workspaces = []) {
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
  return readStamp(project) === fingerprint(project);
}

function isTranspiled(project) {
  return readStamp(project) === transpiled(fingerprint(project));
}

/** Says that a build has neither declarations nor checked types. */
function transpiled(stamp) {
  return `transpiled ${stamp}`;
}

function readStamp(project) {
  const stamp = stampOf(project);
  return existsSync(join(ROOT, project, "dist")) && existsSync(stamp) ? readFileSync(stamp, "utf8") : undefined;
}

/** Compiles each file of the libraries by itself. */
async function transpile(libraries) {
  if (libraries.length === 0) return;
  const start = performance.now();
  const { build: bundle } = await import("esbuild");
  for (const project of libraries) {
    const stamp = fingerprint(project);
    const files = sources(`${project}/src`).filter((file) => file.endsWith(".ts"));
    const fresh = join(ROOT, ".cache/build/transpiled");
    rmSync(fresh, { recursive: true, force: true });
    const entryPoints = files.map((file) => join(ROOT, file));
    await bundle({ entryPoints, outbase: join(ROOT, project, "src"), outdir: fresh, format: "esm", target: "node20" });
    addParts(project, fresh);
    swap(fresh, project, transpiled(stamp));
  }
  report("transpile the packages", start);
}

/** Compiles into a new folder and swaps it with the old build, so that no process loads an incomplete build. */
async function build(project) {
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
  await step(`build ${project}`, process.execPath, ["node_modules/typescript/bin/tsc", "-p", config, ...out]);
  const data = join(ROOT, project, "data");
  // Also part of the build script of an environment.
  if (existsSync(data)) cpSync(data, join(fresh, "data"), { recursive: true });
  addParts(project, fresh);
  swap(fresh, project, stamp);
}

/** Copies the builds of the parts into a new build of the package that contains them. */
function addParts(project, fresh) {
  if (project !== CORE) return;
  for (const part of [...USED_PARTS, ...OPTIONAL_PARTS]) {
    const built = join(ROOT, part, "dist");
    // One that uses the package is built after it, and added then.
    if (existsSync(built)) cpSync(built, join(fresh, "parts", basename(part)), { recursive: true });
  }
}

/** Replaces a part in the build of the package that contains it. */
function replacePart(part) {
  const old = join(ROOT, CORE, "dist/parts", basename(part));
  const fresh = join(ROOT, ".cache/build/part");
  rmSync(fresh, { recursive: true, force: true });
  cpSync(join(ROOT, part, "dist"), fresh, { recursive: true });
  rmSync(old, { recursive: true, force: true });
  renameSync(fresh, old);
}

/** Builds the page with its compressed copies, and swaps it in like every build. */
async function buildWeb() {
  const stamp = fingerprint(WEB);
  const fresh = join(ROOT, ".cache/build/web");
  rmSync(stampOf(WEB), { force: true });
  rmSync(fresh, { recursive: true, force: true });
  await step(`build ${WEB}`, process.execPath, ["node_modules/vite/bin/vite.js", "build", WEB, "--outDir", fresh]);
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
  if (OPTIONAL_PARTS.includes(project)) replacePart(project);
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

/** A hash of everything that determines a build. */
function fingerprint(project) {
  const hash = createHash("sha256");
  const folders = { [WEB]: WEB_SOURCES, [CORE]: [CORE, ...USED_PARTS] }[project] ?? [project];
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

async function step(name, command, args) {
  const start = performance.now();
  const child = spawn(command, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const [status, reason] = await once(child, "close").catch((error) => [null, error]);
  if (status !== 0) {
    process.stderr.write(`${output}setup failed: ${name} (${reason ?? `exit ${status}`})\n`);
    process.exit(status ?? 1);
  }
  report(name, start);
}

function report(name, start) {
  process.stderr.write(`setup: ${name}, ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
}

function readJson(file) {
  const path = join(ROOT, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}
