/**
 * `npm run measure`: prints the size of the packages and the length of the hot paths as a Markdown table.
 * `npm run measure -- trip ws|http|journal` prints which functions one warm request enters, by file.
 * `--install` adds the packages and megabytes of `npm install openenv-ts`, `--start` the time from `npm start` on a fresh
 * clone to a running server. Both take minutes and need the npm registry.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { readEntries } from "./docs/api.mjs";
import { ROOT } from "./root.mjs";
import { setup } from "./setup.mjs";

const PACKAGE = join(ROOT, "packages/openenv");
/** What is needed to serve or to use an environment. */
const CORE = /^packages\/openenv\/src\//;
const PACKAGES = /^packages\/[\w-]+\/(?:src|bin)\//;
const SOURCE = /\.(?:ts|tsx|mjs|css)$/;
const TEST = /\.test(?:-d)?\.(?:ts|tsx|mjs)$|\/fixtures\//;
const CROWDED = 14;

const { values: options, positionals } = parseArgs({
  options: { install: { type: "boolean" }, start: { type: "boolean" } },
  allowPositionals: true,
});
await setup();
// It imports what the setup builds.
const { countFunctions, measureTrip, TRIP_NAMES } = await import("../benchmarks/one-server/trips.mjs");
if (positionals.length > 0) {
  await printTrip(positionals);
  process.exit();
}
const files = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).trim().split("\n");
const sources = files.filter((file) => PACKAGES.test(file) && SOURCE.test(file) && !TEST.test(file));
const trips = [];
for (const name of TRIP_NAMES) trips.push(await takeTrip(name));
const crowded = findCrowdedFolders(sources);
const entries = readEntries(PACKAGE);

const rows = [
  ["core, lines", countLines(sources.filter((file) => CORE.test(file)))],
  ["all packages, lines", countLines(sources)],
  ["exports", `${entries.flatMap(({ exports }) => exports).length} over ${entries.length} entries`],
  ...trips.map(({ name, files }) => [`${name}, functions / files`, `${countFunctions(files)} / ${files.size}`]),
  [`folders with more than ${CROWDED} files or folders`, crowded.length === 0 ? "none" : crowded.join(", ")],
  ...(options.install ? [["`npm install openenv-ts`", await measureInstall()]] : []),
  ...(options.start ? [["`npm start` on a fresh clone", await measureStart()]] : []),
];
const cells = rows.map(([measure, value]) => `| ${measure} | ${value.toLocaleString("en")} |\n`);
process.stdout.write(`| measure | value |\n|---|---|\n${cells.join("")}`);

function takeTrip(name) {
  return withFolder((folder) => measureTrip(name, join(folder, "journal")));
}

async function printTrip([command, name, ...rest]) {
  if (command !== "trip" || !TRIP_NAMES.includes(name) || rest.length > 0)
    throw new Error(`Use: npm run measure -- trip ${TRIP_NAMES.join("|")}`);
  const { name: title, files } = await takeTrip(name);
  for (const [file, functions] of files) process.stdout.write(`${file}\n  ${functions.join(", ")}\n`);
  process.stdout.write(`${title}: ${countFunctions(files)} functions in ${files.size} files\n`);
}

function countLines(list) {
  return list.reduce((sum, file) => sum + readFileSync(join(ROOT, file), "utf8").split("\n").length - 1, 0);
}

/** Folders with too many entries, each with its number of direct files and folders, in descending order. */
function findCrowdedFolders(list) {
  const entries = new Map();
  for (const file of list) {
    for (let path = file; dirname(path) !== "."; path = dirname(path)) {
      const folder = dirname(path);
      entries.set(folder, (entries.get(folder) ?? new Set()).add(path));
    }
  }
  return [...entries]
    .filter(([, paths]) => paths.size > CROWDED)
    .sort(([, a], [, b]) => b.size - a.size)
    .map(([folder, paths]) => `${folder} ${paths.size}`);
}

/** The number of packages and megabytes in a project after installing the packed package. */
function measureInstall() {
  return withFolder((folder) => {
    const npm = (...args) =>
      execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const [{ filename }] = JSON.parse(npm("pack", PACKAGE, "--json"));
    writeFileSync(join(folder, "package.json"), '{ "name": "consumer", "private": true, "type": "module" }\n');
    npm("install", `./${filename}`, "--no-audit", "--no-fund");
    const lock = JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8"));
    const modules = join(folder, "node_modules");
    const bytes = readdirSync(modules, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, entry) => sum + readFileSync(join(entry.parentPath, entry.name)).byteLength, 0);
    return `${Object.keys(lock.packages).length} packages, ${(bytes / 1e6).toFixed(0)} MB`;
  });
}

function measureStart() {
  return withFolder(async (folder) => {
    execFileSync("git", ["clone", "--quiet", ROOT, folder]);
    const began = performance.now();
    const child = spawn("npm", ["start"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"], detached: true });
    try {
      const url = await firstAddress(child);
      const { status } = await fetch(`${url}/health`);
      return `${((performance.now() - began) / 1000).toFixed(1)} s to status ${status}`;
    } finally {
      process.kill(-child.pid);
    }
  });
}

function firstAddress(child) {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part) => {
      text += part;
      const address = / at (http:\/\/[^\s/]+)/.exec(text);
      if (address) resolve(address[1]);
    });
    child.once("exit", (code) => reject(new Error(`npm start exited with code ${code}:\n${text}`)));
  });
}

/** Runs `work` with a temporary folder, which is removed afterwards. */
async function withFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), "openenv-measure-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
