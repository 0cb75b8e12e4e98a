import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { ConfigError, ProviderError } from "openenv-ts";
import { rejectReplicas, rejectSource, rejectUnknown } from "../lifecycle/check-options.js";
import { startEnvironment } from "../lifecycle/start.js";
import type { StartContext } from "../lifecycle/start-context.js";
import type { Provider, StartedServer, StartSpec } from "../provider.js";
import { checkOut } from "../repository/checkout.js";
import { type GitSource, parseGitUrl } from "../repository/git-source.js";
import { findServeScript } from "./find-serve-script.js";
import { launch } from "./launch.js";

export interface ProcessProviderOptions {
  /** Port on 127.0.0.1; default a free one. */
  port?: number | undefined;
}

/**
 * Starts the environment of a folder, module or git repository with Node, as `openenv serve` does, in a separate
 * process on 127.0.0.1. The process gets the variables of this process, except `HOST`, `PORT` and `WORKERS`, and those
 * of `env`. It ends with everything that it started at `close()`, and when this process ends, however it ends.
 * @throws ConfigError for an unknown option or an invalid port.
 * @example
 * await using server = await processProvider().start({ directory: "envs/echo" });
 * await using env = await connect(server.url, echo);
 */
export function processProvider(options: ProcessProviderOptions = {}): Provider {
  rejectUnknown("processProvider()", options, ["port"]);
  const { port = 0 } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new ConfigError(`port must be an integer from 0 (a free port) to 65535, got ${port}.`);
  }
  const descriptor = { module: import.meta.url, factory: "processProvider", options };
  return { name: NAME, descriptor, start: (spec) => startProcess(spec, port) };
}

const NAME = "process";
/** Settings of the caller's own server, which do not apply to this one. */
const OF_CALLER = ["HOST", "PORT", "WORKERS", "OPENENV_WORKER_NUMBER", "npm_command"];

async function startProcess(spec: StartSpec, port: number): Promise<StartedServer> {
  rejectReplicas(NAME, spec);
  if ("image" in spec)
    rejectSource(NAME, "a folder, a module or a git repository", "use dockerProvider() for an image");
  const git = "git" in spec ? parseGitUrl(spec.git) : undefined;
  return startEnvironment(NAME, spec, async (start) => {
    const target = git ? await fetchNode(git, start) : resolve((spec as { directory: string }).directory);
    const found = await stat(target).catch(() => undefined);
    if (!found) throw new ProviderError("SOURCE_NOT_FOUND", `There is no file or folder ${target}. Check the path.`);
    start.progress(`starting ${target}`);
    const task = { target, options: { host: "127.0.0.1", port }, announce: false };
    const child = await launch(start, {
      provider: NAME,
      source: git?.url ?? target,
      command: process.execPath,
      args: [findServeScript(), JSON.stringify(task)],
      cwd: found.isDirectory() ? target : dirname(target),
      env: { ...process.env, ...Object.fromEntries(OF_CALLER.map((name) => [name, undefined])), ...spec.env },
      channel: true,
    });
    const ready = (await child.message(start.signal)) as { port: number };
    const url = `http://127.0.0.1:${ready.port}`;
    child.noteUrl(url);
    return { url, logs: child.logs, ended: child.ended };
  });
}

async function fetchNode(git: GitSource, start: StartContext): Promise<string> {
  const { dir, runtime } = await checkOut({ git }, start);
  if (runtime === "node") return dir;
  throw new ProviderError("SOURCE_NOT_FOUND", `${git.url} is a Python environment: use uvProvider().`);
}
