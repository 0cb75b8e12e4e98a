import { readFile } from "node:fs/promises";
import { isAbsolute, join, normalize } from "node:path";
import { ConfigError, isObject } from "openenv-ts/internal";

const GROUPS = ["dependencies", "devDependencies", "optionalDependencies"] as const;

/**
 * Checks that every dependency that package.json installs from a path is among the published files, because a Space is
 * built from those files only.
 * @throws ConfigError that names the dependency.
 */
export async function checkPackage(dir: string, paths: readonly string[]): Promise<void> {
  // A Python environment has no package.json.
  if (!paths.includes("package.json")) return;
  if (!paths.includes("package-lock.json")) {
    throw new ConfigError(
      "The published files do not include package-lock.json; run npm install, and remove it from .gitignore.",
    );
  }
  for (const [name, version] of await readDependencies(dir)) {
    const [, path] = /^(?:file|link):(.*)$/.exec(version) ?? [];
    if (path === undefined) continue;
    const inside = normalize(path).replaceAll("\\", "/").replace(/\/$/, "");
    const isPublished = paths.some((file) => file === inside || file.startsWith(`${inside}/`));
    if (isAbsolute(path) || inside.startsWith("..") || !isPublished) {
      throw new ConfigError(
        `The dependency ${name} is ${version}, which is not published; pack it into vendor/ and depend on ` +
          `file:vendor/${name.replaceAll("/", "-").replace("@", "")}.tgz, or on a published version.`,
      );
    }
  }
}

async function readDependencies(dir: string): Promise<[string, string][]> {
  let manifest: unknown;
  try {
    manifest = JSON.parse(await readFile(join(dir, "package.json"), "utf8"));
  } catch (error) {
    throw new ConfigError(`package.json is not valid JSON (${(error as Error).message}); fix it.`);
  }
  if (!isObject(manifest)) throw new ConfigError("package.json is not a JSON object; fix it.");
  const groups = GROUPS.map((group) => manifest[group]).filter(isObject);
  return groups.flatMap((group) =>
    Object.entries(group).map(([name, version]): [string, string] => [name, String(version)]),
  );
}
