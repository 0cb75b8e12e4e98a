/** Each package of the lock files has the hash of what is installed, and none names the host it came from. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../root.mjs";

const FILES = ["package-lock.json", "openenv/templates/env/package-lock.json"];

if (process.argv[1] === import.meta.filename) {
  const problems = FILES.flatMap((file) => {
    const lock = JSON.parse(readFileSync(join(ROOT, file), "utf8"));
    return [
      ...findUnverified(lock).map((path) => `${file}: ${path} has no integrity: npm run platforms`),
      ...findHosts(lock).map((path) => `${file}: ${path} names a host in "resolved": remove that field`),
    ];
  });
  process.stdout.write(problems.map((problem) => `${problem}\n`).join(""));
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The rows of packages of a registry that have no hash. The template's openenv-ts gets its own when it is packed. */
export function findUnverified({ packages }) {
  return Object.keys(packages).filter((path) => {
    const { link, inBundle, integrity } = packages[path];
    const fromRegistry = path.includes("node_modules/") && !link && !inBundle && path !== "node_modules/openenv-ts";
    return fromRegistry && !/^sha512-[\w+/]{86}==$/.test(integrity);
  });
}

export function findHosts({ packages }) {
  return Object.keys(packages).filter((path) => /^[a-z+]+:\/\//.test(packages[path].resolved));
}
