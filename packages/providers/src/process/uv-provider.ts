import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError, findFreePort, isTaken, ProviderError } from "openenv-ts/internal";
import { rejectReplicas, rejectSource, rejectUnknown } from "../lifecycle/check-options.js";
import { startEnvironment } from "../lifecycle/start.js";
import type { Provider, StartedServer, StartSpec } from "../provider.js";
import { checkOut } from "../repository/checkout.js";
import { parseGitUrl } from "../repository/git-source.js";
import { launch } from "./launch.js";

export interface UvProviderOptions {
  /** The port to listen on, of 127.0.0.1; default a free one. */
  port?: number | undefined;
  /** The application for uvicorn; default `app` of the manifest, else `server.app:app`. */
  app?: string | undefined;
}

/**
 * Starts a Python environment by folder or git URL with `uv run`, its packages in an environment of their own that uv
 * makes, on 127.0.0.1. It has the variables of this process and those of `env`. The process and all that it starts end with
 * `close()` and with this process, whatever ends that.
 * @throws ConfigError for an option it does not have.
 * @example
 * await using server = await uvProvider().start({ directory: "envs/echo_env" });
 * await using env = await connect(server.url);
 */
export function uvProvider(options: UvProviderOptions = {}): Provider {
  rejectUnknown("uvProvider()", options, ["port", "app"]);
  const { port = 0, app } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new ConfigError(`port is ${port}; give a whole number from 0 (a free one) to 65535.`);
  }
  if (app !== undefined) checkApp(app);
  const descriptor = { module: import.meta.url, factory: "uvProvider", options };
  return { name: NAME, descriptor, start: (spec) => startWithUv(spec, { port, app }) };
}

const NAME = "uv";
const DEFAULT_APP = "server.app:app";

async function startWithUv(spec: StartSpec, options: Required<UvProviderOptions>): Promise<StartedServer> {
  rejectReplicas(NAME, spec);
  if ("image" in spec) rejectSource(NAME, "the folder or git URL of a Python environment", "use dockerProvider()");
  const git = "git" in spec ? parseGitUrl(spec.git) : undefined;
  return startEnvironment(NAME, spec, async (start) => {
    const dir = git ? (await checkOut({ git }, start)).dir : resolve((spec as { directory: string }).directory);
    mustBePython(dir);
    const app = options.app ?? checkApp(await readApp(dir));
    const port = await choosePort(options.port);
    start.progress(`uv prepares and starts ${dir}`);
    const child = await launch(start, {
      provider: NAME,
      source: git?.url ?? dir,
      command: "uv",
      args: [...RUN, "--project", dir, "--", "uvicorn", app, "--host", "127.0.0.1", "--port", port, "--workers", "1"],
      cwd: dir,
      env: { ...process.env, ...spec.env },
    }).catch(withAdvice);
    const url = `http://127.0.0.1:${port}`;
    child.noteUrl(url);
    return { url, logs: child.logs, ended: child.ended };
  });
}

/** What listens there already would be taken for the environment: it may well answer a reset. */
async function choosePort(port = 0): Promise<string> {
  if (port === 0) return String(await findFreePort());
  if (!(await isTaken(port))) return String(port);
  throw new ProviderError(
    "START_FAILED",
    `Port ${port} of 127.0.0.1 is taken; name another with \`port\`, or leave it out to get a free one.`,
  );
}

/** The folder is not written to, beside what the build of the package itself leaves there. */
const RUN = ["run", "--isolated", "--no-progress"];

function mustBePython(dir: string): void {
  if (existsSync(join(dir, "pyproject.toml"))) return;
  const what = existsSync(dir) ? `no pyproject.toml in ${dir}` : `no folder ${dir}`;
  const node = existsSync(join(dir, "package.json")) ? " It is an environment of Node: use processProvider()." : "";
  throw new ProviderError("SOURCE_NOT_FOUND", `There is ${what}; name the folder of a Python environment.${node}`);
}

async function readApp(dir: string): Promise<string> {
  // Loaded here: what only connects needs neither YAML nor zod.
  const { findManifest } = await import("../manifest/read-manifest.js");
  return (await findManifest(dir))?.app ?? DEFAULT_APP;
}

/** It becomes an argument of uvicorn, and may come from somebody else's manifest. */
function checkApp(app: string): string {
  if (/^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$/.test(app)) return app;
  throw new ConfigError(`app is ${JSON.stringify(app)}; write module:name, as in ${DEFAULT_APP}.`);
}

function withAdvice(error: unknown): never {
  if (!(error instanceof ProviderError) || error.code !== "PROVIDER_UNAVAILABLE") throw error;
  const message = `${error.message} Install uv (https://docs.astral.sh/uv) and see that it is on the PATH.`;
  throw new ProviderError(error.code, message, { cause: error });
}
