import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const IDENTITY = {
  GIT_AUTHOR_NAME: "author",
  GIT_AUTHOR_EMAIL: "author@localhost",
  GIT_COMMITTER_NAME: "author",
  GIT_COMMITTER_EMAIL: "author@localhost",
};

export interface TreeEntry {
  type: "file" | "directory";
  oid: string;
  path: string;
  size: number;
}

export interface FileChange {
  path: string;
  /** Nothing removes the file, or everything below the folder. */
  content?: Buffer;
  /** A symbolic link, whose content is its target. */
  link?: boolean;
}

/** A bare git repository: what a Space keeps its files in, and what git clones. */
export interface Repository {
  readonly dir: string;
  /** The commit of a branch, a tag or a commit; undefined when there is none. */
  resolve(revision: string): Promise<string | undefined>;
  tree(revision: string): Promise<TreeEntry[]>;
  read(revision: string, path: string): Promise<Buffer | undefined>;
  /** A new commit on top of `parent`; the reference points to it afterwards. */
  commit(ref: string, parent: string | undefined, title: string, changes: readonly FileChange[]): Promise<string>;
}

export async function createRepository(dir: string): Promise<Repository> {
  await run("git", ["init", "--quiet", "--bare", "--initial-branch=main", dir]);
  const git = (args: string[], options: { input?: Buffer; index?: string } = {}): Promise<Buffer> => {
    const env = { ...process.env, ...IDENTITY, ...(options.index && { GIT_INDEX_FILE: options.index }) };
    return new Promise((resolve, reject) => {
      const settings = { env, encoding: "buffer" as const, maxBuffer: 256 * 1024 * 1024 };
      const child = execFile("git", ["--git-dir", dir, ...args], settings, (error, stdout) =>
        error ? reject(error) : resolve(stdout),
      );
      child.stdin?.end(options.input);
    });
  };
  const text = async (args: string[], options?: { input?: Buffer; index?: string }): Promise<string> =>
    String(await git(args, options)).trim();
  let indexes = 0;
  let last: Promise<unknown> = Promise.resolve();

  async function commit(ref: string, parent: string | undefined, title: string, changes: readonly FileChange[]) {
    const index = join(dir, `index-${++indexes}`);
    try {
      if (parent) await git(["read-tree", parent], { index });
      for (const { path, content, link } of changes) {
        if (content === undefined) {
          await git(["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", path], { index });
          continue;
        }
        const oid = await text(["hash-object", "-w", "--stdin"], { input: content });
        await git(["update-index", "--add", "--cacheinfo", `${link ? "120000" : "100644"},${oid},${path}`], { index });
      }
      const tree = await text(["write-tree"], { index });
      const commit = await text(["commit-tree", tree, "-m", title, ...(parent ? ["-p", parent] : [])]);
      await git(["update-ref", ref, commit]);
      return commit;
    } finally {
      await rm(index, { force: true });
    }
  }

  return {
    dir,
    resolve: (revision) =>
      text(["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`]).catch(() => undefined),
    async tree(revision) {
      const lines = String(await git(["ls-tree", "-r", "-t", "-l", "-z", revision])).split("\0");
      return lines.filter(Boolean).map((line) => {
        const [facts = "", path = ""] = line.split("\t");
        const [, type, oid = "", size = "0"] = facts.split(/ +/);
        return { type: type === "tree" ? "directory" : "file", oid, path, size: type === "tree" ? 0 : Number(size) };
      });
    },
    read: (revision, path) => git(["cat-file", "blob", `${revision}:${path}`]).catch(() => undefined),
    commit(...given) {
      const done = last.then(() => commit(...given));
      last = done.catch(() => {});
      return done;
    },
  };
}
