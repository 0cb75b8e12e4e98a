import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ProviderError } from "openenv-ts";
import type { GitSource } from "./git-source.js";
import { rejectEscapingLinks } from "./place-inside.js";
import { runTool } from "./run-tool.js";

/** Allows only the given transport, no program of a repository and no prompt on the terminal. */
const SAFE = [
  ...["-c", "protocol.allow=never", "-c", "protocol.https.allow=always"],
  ...["-c", "core.hooksPath=/dev/null", "-c", "fetch.fsckObjects=true", "-c", "advice.detachedHead=false"],
];
const OF_CALLER = [
  ...["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX"],
  ...["GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE"],
];
/** Options for local addresses alone: a redirect from https could lead there. */
const PLAIN = ["-c", "protocol.http.allow=always"];
const ENV = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_LFS_SKIP_SMUDGE: "0",
  // A git that has started this process, for example for a hook, sets these to its own repository, which must not be
  // written to.
  ...Object.fromEntries(OF_CALLER.map((name) => [name, undefined])),
};

/**
 * Puts one commit of a repository into an empty folder, without its history, and returns the commit's hash.
 * @throws ProviderError SOURCE_NOT_FOUND when it is not available or has a path outside the folder,
 * PROVIDER_UNAVAILABLE when git is missing.
 */
export async function cloneInto(dir: string, { url, ref }: GitSource, signal: AbortSignal): Promise<string> {
  const git = (...args: string[]): Promise<string> =>
    runTool("git", [...SAFE, ...(url.startsWith("http:") ? PLAIN : []), ...args], {
      cwd: dir,
      source: url,
      env: ENV,
      signal,
      missing: "Install git.",
    });
  try {
    await git("init", "--quiet");
    await git("fetch", "--quiet", "--depth", "1", "--no-tags", "--end-of-options", url, ref ?? "HEAD");
    await git("checkout", "--quiet", "--detach", "FETCH_HEAD");
  } catch (error) {
    if (!(error instanceof ProviderError) || error.code !== "START_FAILED") throw error;
    const what = ref === undefined ? url : `${ref} of ${url}`;
    const reason = error.logs.trim().split("\n").at(-1) ?? "";
    const message = `git cannot clone ${what} (${reason}). Check the URL and your permission to read it.`;
    throw new ProviderError("SOURCE_NOT_FOUND", message, { logs: error.logs, cause: error });
  }
  const commit = (await git("rev-parse", "HEAD")).trim();
  await rm(join(dir, ".git"), { recursive: true, force: true });
  await rejectEscapingLinks(dir);
  await rejectPointers(dir);
  return commit;
}

const POINTER_BYTES = 200;

/** Without Git LFS a large file is only a pointer, and programs that read it fail with confusing errors. */
async function rejectPointers(dir: string): Promise<void> {
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    if ((await stat(file)).size > POINTER_BYTES) continue;
    if (!(await readFile(file, "latin1")).startsWith("version https://git-lfs.github.com/spec/")) continue;
    throw new ProviderError("PROVIDER_UNAVAILABLE", `${entry.name} is kept in Git LFS; install git-lfs and try again.`);
  }
}
