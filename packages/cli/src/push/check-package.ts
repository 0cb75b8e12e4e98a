import { readFile } from "node:fs/promises";
import { isAbsolute, join, normalize } from "node:path";
import { ConfigError, isObject } from "openenv-ts/internal";

const GROUPS = ["dependencies", "devDependencies", "optionalDependencies"] as const;

/**
 * A Space is built from its own files alone: what package.json installs from a path must be one of them.
 * @throws ConfigError that names the dependency.
 */
export async function checkPackage(dir: string, paths: readonly string[]): Promise<void> {
  // A Python environment has none.
  if (!paths.includes("package.json")) return;
  if (!paths.includes("package-lock.json")) {
    throw new ConfigError(
      "There is no package-lock.json among the published files; run npm install, and do not ignore it.",
    );
  }
  for (const [name, version] of await readDependencies(dir)) {
    const [, path] = /^(?:file|link):(.*)$/.exec(version) ?? [];
    if (path === undefined) continue;
    const inside = normalize(path).replaceAll("\\", "/").replace(/\/$/, "");
    const isPublished = paths.some((file) => file === inside || file.startsWith(`${inside}/`));
    if (isAbsolute(path) || inside.startsWith("..") || !isPublished) {
      throw new ConfigError(
        `The dependency ${name} is ${version}, which is not among the published files; pack it into vendor/ and depend on ` +
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
    throw new ConfigError(`package.json is no JSON (${(error as Error).message}); mend it.`);
  }
  if (!isObject(manifest)) throw new ConfigError("package.json is no JSON object; mend it.");
  const groups = GROUPS.map((group) => manifest[group]).filter(isObject);
  return groups.flatMap((group) =>
    Object.entries(group).map(([name, version]): [string, string] => [name, String(version)]),
  );
}
