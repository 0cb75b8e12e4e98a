/** Updates what refers to the version of a published package, apart from the lock files. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { workspaces } from "./release-check.mjs";

const KINDS = ["dependencies", "devDependencies", "optionalDependencies"];

/** Updates the version of each package of the repository in the packages that depend on it, and in the constant of the server. */
export function follow(root) {
  const files = workspaces(root).flatMap((folder) => [
    `${folder}/package.json`,
    ...templates(root, folder).map((template) => `${template}/package.json`),
  ]);
  const manifests = files.map((file) => JSON.parse(readFileSync(join(root, file), "utf8")));
  const versions = new Map(manifests.map(({ name, version }) => [name, version]));
  for (const [index, manifest] of manifests.entries()) {
    for (const dependencies of KINDS.map((kind) => manifest[kind] ?? {})) {
      for (const name of Object.keys(dependencies)) dependencies[name] = versions.get(name) ?? dependencies[name];
    }
    writeFileSync(join(root, files[index]), `${JSON.stringify(manifest, null, 2)}\n`);
  }
  const constant = join(root, "packages/openenv/src/util/package-version.ts");
  const version = `PACKAGE_VERSION = "${versions.get("openenv-ts")}"`;
  writeFileSync(constant, readFileSync(constant, "utf8").replace(/PACKAGE_VERSION = ".*?"/, version));
}

/** The folders of templates that have dependencies; they are not workspaces. */
function templates(root, folder) {
  const home = `${folder}/templates`;
  return readdirSync(join(root, folder)).includes("templates")
    ? readdirSync(join(root, home))
        .map((name) => `${home}/${name}`)
        .filter((template) => existsSync(join(root, template, "package.json")))
    : [];
}
