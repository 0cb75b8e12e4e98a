import { lstatSync, type Stats } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import ignore, { type Ignore } from "ignore";
import { ConfigError } from "../../errors.js";

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
 * Lists the files of an environment's folder that are published: not what `.gitignore` names, what a build makes, nor
 * what holds secrets.
 * @throws ConfigError for a symbolic link, or for more files or bytes than a Space takes.
 */
export async function findFiles(dir: string): Promise<FoundFiles> {
  const own = ignore()
    .add(NEVER)
    .add(await readPatterns(dir));
  const secrets = ignore().add(SECRET);
  const found: FoundFiles = { paths: [], bytes: 0, secret: [] };
  await walk(dir, "", { own, secrets, found });
  return found;
}

interface Walk {
  own: Ignore;
  secrets: Ignore;
  found: FoundFiles;
}

async function walk(dir: string, below: string, state: Walk): Promise<void> {
  const { own, secrets, found } = state;
  const names = (await readdir(join(dir, below))).sort();
  for (const name of names) {
    const path = `${below}${name}`;
    const stats = lstatSync(join(dir, path));
    const matched = stats.isDirectory() ? `${path}/` : path;
    if (own.ignores(matched)) continue;
    if (secrets.ignores(matched)) found.secret.push(matched);
    else if (stats.isDirectory()) await walk(dir, `${path}/`, state);
    else add(path, stats, found);
  }
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

async function readPatterns(dir: string): Promise<string> {
  return await readFile(join(dir, ".gitignore"), "utf8").catch(() => "");
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
}
