import { existsSync } from "node:fs";
import { ConfigError } from "openenv-ts/internal";
import { printNote } from "../terminal/output.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Returns the folder to serve: for a Space (`owner/name`, or the URL of its page) or a git URL, the folder in the cache
 * that its repository was downloaded to; otherwise the target itself.
 * @throws ConfigError for a Python environment, with the command that serves it; ProviderError when the download fails.
 */
export async function fetchTarget(target: string): Promise<string> {
  if (!mayBeRemote(target) || existsSync(target)) return target;
  const { checkOut, isGitUrl, isSpaceId, parseGitUrl, spaceOfPage } = await import("@openenv-ts/providers/internal");
  const id = isGitUrl(target) ? spaceOfPage(target) : isSpaceId(target) ? target : undefined;
  if (id === undefined && !isGitUrl(target)) return target;
  const git = id === undefined ? parseGitUrl(target) : undefined;
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => stop.abort(new Error(`stopped by ${signal}`));
  // The child processes are in separate process groups, which the terminal's Ctrl-C does not reach.
  for (const signal of SIGNALS) process.once(signal, onSignal);
  try {
    const source = git ? { git } : await findSource(id as string, stop.signal);
    const { describePython, findManifest } = await import("@openenv-ts/providers/manifest");
    const { dir, runtime } = await checkOut(source, { signal: stop.signal, progress: printNote });
    if (runtime === "python") throw new ConfigError(describePython(dir, (await findManifest(dir))?.app));
    return dir;
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

/** Decides without loading the provider modules, which a plain path does not need. */
function mayBeRemote(target: string): boolean {
  return target.includes("://") || target.startsWith("git@") || /^[^./\\][^/\\]*\/[^/\\]+$/.test(target);
}

async function findSource(id: string, signal: AbortSignal) {
  const { findSpace, readHubToken } = await import("@openenv-ts/providers/internal");
  const token = readHubToken();
  return { space: await findSpace(id, { token, signal }), token };
}
