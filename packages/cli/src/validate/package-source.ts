import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { MANIFEST_FILE } from "@openenv-ts/providers/manifest";
import { ConfigError } from "openenv-ts/internal";

/** Files that mark a package of another kind; with two of them nobody can tell which it is. */
const OTHER_MARKS = ["task.toml", "task.md"];

/**
 * Makes sure that a folder is a package that can be validated: it has an `openenv.yaml` and no mark of another kind.
 * @throws ConfigError when it is none, or could be two.
 */
export async function recognisePackage(dir: string): Promise<void> {
  const isFolder = await stat(dir).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) throw new ConfigError(`There is no folder ${dir}; name that of a package, or give --url.`);
  const marks: string[] = [];
  for (const mark of [MANIFEST_FILE, ...OTHER_MARKS]) if (await marksPackage(join(dir, mark))) marks.push(mark);
  if (marks.length > 1) {
    throw new ConfigError(`${dir} has ${marks.join(" and ")}: a package has exactly one of them; remove the others.`);
  }
  if (marks[0] !== MANIFEST_FILE) {
    throw new ConfigError(`${dir} has no ${MANIFEST_FILE}, so it is no package that can be validated; write one.`);
  }
}

/** A task.md marks one only with a front matter. */
async function marksPackage(file: string): Promise<boolean> {
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile || !file.endsWith(".md")) return isFile;
  return (await readFile(file, "utf8")).trimStart().startsWith("---");
}

/** What belongs to a working copy and not to the package. */
const LEFT_OUT = new Set([
  ".git",
  "__pycache__",
  ".venv",
  ".worktrees",
  "outputs",
  "node_modules",
  ".openenv",
  ".pytest_cache",
]);

/**
 * SHA-256 (hex) over the names and contents of the package's files.
 * @throws ConfigError for a symbolic link and anything else that is no file: what is checked must be what is shipped.
 */
export async function digestPackage(dir: string): Promise<string> {
  const hash = createHash("sha256");
  for (const path of (await listFiles(dir, "")).sort()) {
    hash.update(path).update("\0");
    // A link that was put there since is not followed.
    const file = await open(join(dir, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    for await (const chunk of file.createReadStream()) hash.update(chunk as Buffer);
    hash.update("\0");
  }
  return hash.digest("hex");
}

async function listFiles(dir: string, below: string): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await readdir(join(dir, below), { withFileTypes: true })) {
    if (LEFT_OUT.has(entry.name)) continue;
    const path = below ? `${below}/${entry.name}` : entry.name;
    if (entry.isDirectory()) files.push(...(await listFiles(dir, path)));
    else if (entry.isFile()) files.push(path);
    else
      throw new ConfigError(
        `${path} is a ${entry.isSymbolicLink() ? "symbolic link" : "special file"}; a package has files only.`,
      );
  }
  return files;
}
