/**
 * Part of `npm run format`: adds the binary packages of other platforms to package-lock.json, with their hashes, when the
 * registry did not list them as the lock was written. Without these entries `npm ci` rejects the lock or omits the binary;
 * without a hash it does not verify what it installs.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./root.mjs";

const NAME = /-(?<os>android|darwin|freebsd|linux|openharmony|win32)-(?<cpu>\w+)(?:-(?<abi>\w+))?$/;

/** The lock files for `npm ci`. The lock file of new environments is derived from the first one. */
export const LOCK_FILES = ["package-lock.json", "docs/site/package-lock.json"];

if (process.argv[1] === import.meta.filename) for (const file of LOCK_FILES) complete(join(ROOT, file));

function complete(file) {
  const lock = JSON.parse(readFileSync(file, "utf8"));
  for (const { name, version, dev } of findMissing(lock)) {
    const { os, cpu, abi = "" } = NAME.exec(name)?.groups ?? {};
    const libc = abi.startsWith("musl") ? ["musl"] : abi.startsWith("gnu") && os === "linux" ? ["glibc"] : undefined;
    lock.packages[`node_modules/${name}`] = { version, cpu: cpu && [cpu], dev, libc, optional: true, os: os && [os] };
    process.stdout.write(`added ${name} ${version}\n`);
  }
  for (const path of findUnverified(lock)) {
    const name = path.split("node_modules/").at(-1);
    lock.packages[path] = withIntegrity(lock.packages[path], readIntegrity(name, lock.packages[path].version));
  }
  const rows = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en"));
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(rows) }, null, 2)}\n`);
}

/** The optional dependencies `{ name, version, dev }` without an entry in the lock. */
export function findMissing(lock) {
  return Object.values(lock.packages).flatMap(({ optionalDependencies = {}, dev }) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !Object.keys(lock.packages).some((path) => path.endsWith(`node_modules/${name}`)))
      .map(([name, version]) => ({ name, version, dev })),
  );
}

/** The rows of packages of a registry that have no hash. Those of ours in the template get theirs when they are packed. */
export function findUnverified({ packages }) {
  return Object.keys(packages).filter((path) => {
    const { link, inBundle, integrity } = packages[path];
    const fromRegistry =
      path.includes("node_modules/") && !link && !inBundle && !/^node_modules\/@?openenv-ts\b/.test(path);
    return fromRegistry && !/^sha512-[\w+/]{86}==$/.test(integrity);
  });
}

/** Adds the hash after the version, like npm. */
function withIntegrity({ version, ...row }, integrity) {
  return { version, integrity, ...row };
}

function readIntegrity(name, version) {
  try {
    const hash = execFileSync("npm", ["view", `${name}@${version}`, "dist.integrity"], { encoding: "utf8" }).trim();
    if (hash !== "") return hash;
  } catch {
    // npm has printed the reason.
  }
  throw new Error(`The registry has no ${name} ${version}; depend on a version that is available for every platform.`);
}
