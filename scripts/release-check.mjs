/**
 * Checks before a release. `repository`, `homepage` and `bugs` are set in the root package.json, and release.mjs copies them
 * into the published packages. This file, which `npm run check` runs, compares the copies.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./root.mjs";

const FIELDS = ["repository", "homepage", "bugs"];

if (process.argv[1] === import.meta.filename) report(findDifferences(ROOT));

/** Prints problems, which make the process fail; true when there are none. */
export function report(problems) {
  process.stdout.write(problems.map((problem) => `${problem}\n`).join(""));
  process.exitCode = problems.length > 0 ? 1 : 0;
  return problems.length === 0;
}

/** One sentence for each address that is not set. */
export function findMissing(root) {
  const manifest = read(root, "package.json");
  return FIELDS.filter((field) => !/^https:\/\/[^\s/]+\/\S+/.test(manifest[field])).map(
    (field) => `package.json: ${field} must be an https address, got ${JSON.stringify(manifest[field])}`,
  );
}

/** One sentence for each difference from the root or between published packages, and for each pinned dependency. */
export function findDifferences(root) {
  const folders = published(root);
  const manifests = folders.map((folder) => read(root, `${folder}/package.json`));
  const names = manifests.map(({ name }) => name);
  const problems = manifests.flatMap((manifest, index) => {
    const at = `${folders[index]}/package.json`;
    const wanted = metadata(root, folders[index]);
    const stale = FIELDS.filter((field) => JSON.stringify(manifest[field]) !== JSON.stringify(wanted[field]));
    return [
      ...stale.map((field) => `${at}: ${field} differs from the root; run: npm run release -- metadata`),
      ...findPins(manifest, names).map((name) => `${at}: ${name} must be a range such as ^1.2.3`),
    ];
  });
  const versions = [...new Set(manifests.map(({ version }) => version))];
  if (versions.length > 1) problems.push(`published packages have different versions: ${versions.join(", ")}`);
  const fixed = read(root, ".changeset/config.json").fixed.flat();
  if (names.toSorted().join() !== fixed.toSorted().join())
    problems.push(`.changeset/config.json: fixed must list every published package: ${names.join(", ")}`);
  return [...problems, ...findUnlisted(root)];
}

/** Dependencies of the parts of a package that it does not have itself: an installation brings only its own. */
function findUnlisted(root) {
  const hasParts = (folder) => "#parts/*" in (read(root, `${folder}/package.json`).imports ?? {});
  return published(root)
    .filter(hasParts)
    .flatMap((folder) => {
      const { dependencies: own } = read(root, `${folder}/package.json`);
      return parts(root).flatMap((part) =>
        Object.entries(read(root, `${part}/package.json`).dependencies ?? {})
          .filter(([name, range]) => own[name] !== range)
          .map(([name, range]) => `${folder}/package.json: the part ${part} needs ${name} ${range} in dependencies`),
      );
    });
}

/** The folders of the private packages, which are parts of a published one. */
function parts(root) {
  return workspaces(root).filter(
    (folder) => folder.startsWith("packages/") && read(root, `${folder}/package.json`).private,
  );
}

/** Dependencies outside this repository that are pinned to one version. `~` counts as a range. */
function findPins({ dependencies = {}, optionalDependencies = {} }, ours) {
  return Object.entries({ ...dependencies, ...optionalDependencies })
    .filter(([name, range]) => !ours.includes(name) && !/^[\^~]\d/.test(range))
    .map(([name]) => name);
}

export function copyMetadata(root) {
  for (const folder of published(root)) {
    const manifest = read(root, `${folder}/package.json`);
    const { name, version, description, keywords, ...rest } = manifest;
    const others = Object.fromEntries(Object.entries(rest).filter(([field]) => !FIELDS.includes(field)));
    const head = { name, version, description, keywords, ...metadata(root, folder) };
    writeFileSync(join(root, folder, "package.json"), `${JSON.stringify({ ...head, ...others }, null, 2)}\n`);
  }
}

/** The metadata of a package, without fields that are empty in the root. */
function metadata(root, directory) {
  const { repository, homepage, bugs } = read(root, "package.json");
  return {
    ...(repository && {
      repository: { type: "git", url: `git+${repository.replace(/(\.git)?$/, ".git")}`, directory },
    }),
    ...(homepage && { homepage }),
    ...(bugs && { bugs: { url: bugs } }),
  };
}

/** The folders of the public workspaces. */
export function published(root) {
  return workspaces(root).filter((folder) => !read(root, `${folder}/package.json`).private);
}

/** The folders of all workspaces. */
export function workspaces(root) {
  return read(root, "package.json")
    .workspaces.flatMap((pattern) => {
      if (!pattern.endsWith("/*")) return [pattern];
      const parent = pattern.slice(0, -2);
      return existsSync(join(root, parent)) ? readdirSync(join(root, parent)).map((name) => `${parent}/${name}`) : [];
    })
    .filter((folder) => existsSync(join(root, folder, "package.json")));
}

function read(root, file) {
  return JSON.parse(readFileSync(join(root, file), "utf8"));
}
