import { existsSync, lstatSync, type Stats } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { ConfigError } from "openenv-ts/internal";

export interface FoundFiles {
  /** Paths from the folder on, with slashes. */
  paths: string[];
  bytes: number;
  /** Files that are left out because they hold secrets, as their names say. */
  secret: string[];
}

/** What a build makes again, and what belongs to tools. */
const NEVER = [
  ".git/",
  "node_modules/",
  ".openenv/",
  "/dist/",
  "coverage/",
  ".venv/",
  "venv/",
  "__pycache__/",
  "*.pyc",
  "*.egg-info/",
  "*.tsbuildinfo",
  "*.log",
  ".DS_Store",
  ".cache/",
  ".idea/",
  ".vscode/",
];
const SECRET = [
  ".env",
  ".env.*",
  "!.env.example",
  ".npmrc",
  ".netrc",
  ".pypirc",
  "*.pem",
  "*.key",
  "*.p12",
  "*.pfx",
  "id_rsa*",
  "id_ed25519*",
  "id_ecdsa*",
  ".ssh/",
  ".aws/",
  ".docker/",
  "credentials.json",
];
const MAX_FILES = 5_000;
const MAX_FILE_BYTES = 500e6;
const MAX_BYTES = 1e9;

/**
 * Lists the files of an environment's folder that are published: not what a `.gitignore` names, there, below or above in
 * its repository, what a build makes, nor what holds secrets.
 * @throws ConfigError for a symbolic link, or for more files or bytes than a Space takes.
 */
export async function findFiles(dir: string): Promise<FoundFiles> {
  const secrets = ignore().add(SECRET);
  const found: FoundFiles = { paths: [], bytes: 0, secret: [] };
  const { rules, from } = await readRulesAbove(dir);
  rules.add(rebase(NEVER, from));
  await walk(dir, "", { rules, from, secrets, found });
  return found;
}

interface Rules {
  /** Those of every `.gitignore` read so far, the later ones over the earlier ones. */
  rules: Ignore;
  /** Where the environment's folder is among the paths that they are asked about. */
  from: string;
}

interface Walk extends Rules {
  secrets: Ignore;
  found: FoundFiles;
}

async function walk(dir: string, below: string, state: Walk): Promise<void> {
  const { rules, from, secrets, found } = state;
  rules.add(await readRules(join(dir, below), from + below));
  const names = (await readdir(join(dir, below))).sort();
  for (const name of names) {
    const path = `${below}${name}`;
    const stats = lstatSync(join(dir, path));
    const matched = stats.isDirectory() ? `${path}/` : path;
    if (rules.ignores(from + matched)) continue;
    if (secrets.ignores(matched)) found.secret.push(matched);
    else if (stats.isDirectory()) await walk(dir, `${path}/`, state);
    else add(path, stats, found);
  }
}

/** What the repository says of the folder. One that it leaves out itself is none of it. */
async function readRulesAbove(dir: string): Promise<Rules> {
  const above = foldersAbove(dir);
  const [top = dir] = above;
  const pathOf = (folder: string): string => (folder === top ? "" : `${relative(top, folder).replaceAll(sep, "/")}/`);
  const rules = ignore();
  for (const folder of above) rules.add(await readRules(folder, pathOf(folder)));
  const from = pathOf(dir);
  return from && rules.ignores(from) ? { rules: ignore(), from: "" } : { rules, from };
}

/** The outermost, which has the repository, first; none where there is no repository. */
function foldersAbove(dir: string): string[] {
  const above: string[] = [];
  for (let folder = dir; !existsSync(join(folder, ".git")); folder = dirname(folder)) {
    if (folder === dirname(folder)) return [];
    above.unshift(dirname(folder));
  }
  return above;
}

async function readRules(folder: string, path: string): Promise<string[]> {
  const text = await readFile(join(folder, ".gitignore"), "utf8").catch(() => "");
  return rebase(text.replace(/^\uFEFF/, "").split(/\r?\n/), path);
}

/** Patterns that count from one folder on, as patterns that count from the top. */
function rebase(patterns: readonly string[], path: string): string[] {
  return patterns.flatMap((line) => {
    // Blanks at the end do not count, unless the last one is escaped.
    const [, not = "", pattern = ""] = /^(!?)(.*)$/.exec(line.replace(/(?<!\\) +$/, "")) ?? [];
    if (line.startsWith("#") || /^\/?$/.test(pattern)) return [];
    // With a slash it means one place, without one any folder below.
    const depth = pattern.slice(0, -1).includes("/") ? "" : "**/";
    return [`${not}/${path.replaceAll(/[\\*?[\]]/g, "\\$&")}${depth}${pattern.replace(/^\//, "")}`];
  });
}

function add(path: string, stats: Stats, found: FoundFiles): void {
  if (!stats.isFile()) {
    const what = stats.isSymbolicLink() ? "a symbolic link, which could lead out of the folder" : "no ordinary file";
    throw new ConfigError(`${path} is ${what}; replace it by a copy, or name it in .gitignore.`);
  }
  found.paths.push(path);
  found.bytes += stats.size;
  if (stats.size > MAX_FILE_BYTES)
    tooMuch(`${path} has ${megabytes(stats.size)}, more than ${megabytes(MAX_FILE_BYTES)}`);
  if (found.bytes > MAX_BYTES) tooMuch(`The files have more than ${megabytes(MAX_BYTES)}`);
  if (found.paths.length > MAX_FILES) tooMuch(`There are more than ${MAX_FILES} files`);
}

function tooMuch(problem: string): never {
  throw new ConfigError(
    `${problem}; keep data in a dataset of the Hub and load it from there, or name what is not needed in .gitignore.`,
  );
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
}
