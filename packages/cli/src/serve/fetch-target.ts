import { existsSync } from "node:fs";
import { rejectPython } from "../project/python-folder.js";
import { printNote } from "../terminal/output.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * The folder to serve: for a Space (`owner/name`, or the URL of its page) or a git URL the one in the cache that its
 * repository was fetched into, anything else as it is.
 * @throws ConfigError for a Python environment, with the command that serves it; ProviderError when it cannot be fetched.
 */
export async function fetchTarget(target: string): Promise<string> {
  if (!mayBeRemote(target) || existsSync(target)) return target;
  const { checkOut, isGitUrl, isSpaceId, parseGitUrl, spaceOfPage } = await import("@openenv-ts/providers/internal");
  const id = isGitUrl(target) ? spaceOfPage(target) : isSpaceId(target) ? target : undefined;
  if (id === undefined && !isGitUrl(target)) return target;
  const git = id === undefined ? parseGitUrl(target) : undefined;
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => stop.abort(new Error(`stopped by ${signal}`));
  // What it runs is in groups of their own, which the terminal's Ctrl-C does not reach.
  for (const signal of SIGNALS) process.once(signal, onSignal);
  try {
    const source = git ? { git } : await findSource(id as string, stop.signal);
    const { findManifest } = await import("@openenv-ts/providers/manifest");
    const { dir, runtime } = await checkOut(source, { signal: stop.signal, progress: printNote });
    if (runtime === "python") throw rejectPython(dir, (await findManifest(dir))?.app);
    return dir;
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

/** Without loading anything: a plain path has no need of it. */
function mayBeRemote(target: string): boolean {
  return target.includes("://") || target.startsWith("git@") || /^[^./\\][^/\\]*\/[^/\\]+$/.test(target);
}

async function findSource(id: string, signal: AbortSignal) {
  const { findSpace, readHubToken } = await import("@openenv-ts/providers/internal");
  const token = readHubToken();
  return { space: await findSpace(id, { token, signal }), token };
}
