/**
 * Writes the package-lock.json for `openenv init`: the part of this repository's lock file for its dependencies, so that
 * `npm ci` in a new environment installs the versions that are tested here. A template that adds dependencies has a
 * package-lock.json with the rows that it adds. `--check` fails when one is stale.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ROOT } from "./root.mjs";

const TEMPLATES = "packages/cli/templates";
const BASE = "env";
const KINDS = ["dependencies", "optionalDependencies", "peerDependencies"];

if (process.argv[1] === import.meta.filename) {
  const lock = read("package-lock.json");
  const manifest = read(`${TEMPLATES}/${BASE}/package.json`);
  for (const name of readdirSync(join(ROOT, TEMPLATES))) {
    const file = `${TEMPLATES}/${name}/package-lock.json`;
    if (!existsSync(join(ROOT, TEMPLATES, name, "package.json"))) continue;
    const text =
      name === BASE
        ? renderTemplateLock(lock, manifest)
        : renderAddition(lock, manifest, read(`${TEMPLATES}/${name}/package.json`));
    if (!process.argv.includes("--check")) writeFileSync(join(ROOT, file), text);
    else if (readFileSync(join(ROOT, file), "utf8") !== text) {
      process.stdout.write(`${file} is stale: npm run format\n`);
      process.exitCode = 1;
    }
  }
}

/** Renders the rows that differ when a package has more dependencies. */
export function renderAddition(lock, manifest, { dependencies }) {
  const all = { ...manifest.dependencies, ...dependencies };
  const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => a.localeCompare(b, "en")));
  const [known, rows] = [manifest, { ...manifest, dependencies: sorted }].map(
    (one) => JSON.parse(renderTemplateLock(lock, one)).packages,
  );
  const added = Object.entries(rows).filter(([path, row]) => !isDeepStrictEqual(row, known[path]));
  return `${JSON.stringify({ packages: Object.fromEntries(added) }, null, 2)}\n`;
}

/** Renders the lock file of a package whose dependencies are all in `lock`. */
export function renderTemplateLock(lock, manifest) {
  const { name, version, dependencies, devDependencies, engines } = manifest;
  const found = new Map();
  walk(lock.packages, { dependencies }, "", found, { dev: false, optional: false });
  walk(lock.packages, { dependencies: devDependencies }, "", found, { dev: true, optional: false });
  const rows = [...found].map(([path, { row, dev, optional }]) => [
    place(path, lock.packages),
    flagged(row, dev, optional),
  ]);
  const packages = Object.fromEntries(rows.sort(([a], [b]) => a.localeCompare(b, "en")));
  const root = { name, version, dependencies, devDependencies, engines };
  const whole = { name, version, lockfileVersion: 3, requires: true, packages: { "": root, ...packages } };
  return `${JSON.stringify(whole, null, 2)}\n`;
}

/** Follows the dependencies of an entry with Node's lookup. A package that production needs is not marked `dev`. */
function walk(packages, row, from, found, { dev, optional }) {
  for (const kind of KINDS) {
    for (const name of Object.keys(row[kind] ?? {})) {
      const path = lookUp(packages, from, name);
      const isOptional =
        optional || kind === "optionalDependencies" || row.peerDependenciesMeta?.[name]?.optional === true;
      // An optional peer is only installed when another package depends on it.
      if (path === undefined || (kind === "peerDependencies" && isOptional)) continue;
      const known = found.get(path);
      const now = { dev: dev && (known?.dev ?? true), optional: isOptional && (known?.optional ?? true) };
      if (known && known.dev === now.dev && known.optional === now.optional) continue;
      const target = packages[path].link ? { ...packages[packages[path].resolved], link: true } : packages[path];
      found.set(path, { row: target, ...now });
      walk(packages, target, target.link ? packages[path].resolved : path, found, { dev, optional: isOptional });
    }
  }
}

function lookUp(packages, from, name) {
  for (let folder = from; ; ) {
    const path = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (path in packages) return path;
    if (folder === "") return undefined;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")));
  }
}

/** A package of this repository is one like any other there, and so are those inside of it. */
function place(path, packages) {
  const [, folder, rest] = /^(?!node_modules\/)(.+?)(\/node_modules\/.+)$/.exec(path) ?? [];
  return folder ? `node_modules/${packages[folder].name}${rest}` : path;
}

function flagged({ link: _link, devDependencies: _dev, resolved: _resolved, name: _name, ...row }, dev, optional) {
  const { dev: _was, optional: _wasOptional, devOptional: _wasBoth, peer: _peer, ...rest } = row;
  return { ...rest, ...(dev && { dev }), ...(optional && { optional }) };
}

function read(file) {
  return JSON.parse(readFileSync(join(ROOT, file), "utf8"));
}
