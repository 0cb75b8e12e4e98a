import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError, ProviderError } from "openenv-ts";
import { findFreePort } from "openenv-ts/internal";
import { isTaken } from "../address.js";
import { rejectReplicas, rejectSource, rejectUnknown } from "../lifecycle/check-options.js";
import { startEnvironment } from "../lifecycle/start.js";
import { isPythonApp } from "../manifest/python.js";
import type { Provider, StartedServer, StartSpec } from "../provider.js";
import { checkOut } from "../repository/checkout.js";
import { parseGitUrl } from "../repository/git-source.js";
import { launch } from "./launch.js";

export interface UvProviderOptions {
  /** Port on 127.0.0.1; default a free one. */
  port?: number | undefined;
  /** Application for uvicorn; default `app` of the manifest, else `server.app:app`. */
  app?: string | undefined;
}

/**
 * Starts a Python environment by folder or git URL with `uv run` on 127.0.0.1; uv creates a virtual environment for its
 * packages. The process gets the variables of this process and those of `env`. It ends with everything that it started
 * at `close()`, and when this process ends, however it ends.
 * @throws ConfigError for an unknown option or an invalid value.
 * @example
 * await using server = await uvProvider().start({ directory: "envs/echo_env" });
 * await using env = await connect(server.url);
 */
export function uvProvider(options: UvProviderOptions = {}): Provider {
  rejectUnknown("uvProvider()", options, ["port", "app"]);
  const { port = 0, app } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new ConfigError(`port must be an integer from 0 (a free port) to 65535, got ${port}.`);
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
    start.progress(`preparing and starting ${dir} with uv`);
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

/** Another server on this port could answer the reset and be mistaken for the environment. */
async function choosePort(port = 0): Promise<string> {
  if (port === 0) return String(await findFreePort());
  if (!(await isTaken(port))) return String(port);
  throw new ProviderError(
    "START_FAILED",
    `Port ${port} of 127.0.0.1 is in use. Set \`port\` to another port, or omit it to use a free one.`,
  );
}

/** Writes nothing to the folder; only the build of the package may leave files there. */
const RUN = ["run", "--isolated", "--no-progress"];

function mustBePython(dir: string): void {
  if (existsSync(join(dir, "pyproject.toml"))) return;
  const what = existsSync(dir) ? `no pyproject.toml in ${dir}` : `no folder ${dir}`;
  const node = existsSync(join(dir, "package.json")) ? " It is a Node environment: use processProvider()." : "";
  throw new ProviderError("SOURCE_NOT_FOUND", `There is ${what}. Use the folder of a Python environment.${node}`);
}

async function readApp(dir: string): Promise<string> {
  // Loaded lazily: code that only connects needs neither YAML nor zod.
  const { findManifest } = await import("../manifest/read-manifest.js");
  return (await findManifest(dir))?.app ?? DEFAULT_APP;
}

/** Checked because it becomes an argument of uvicorn and may come from an untrusted manifest. */
function checkApp(app: string): string {
  if (isPythonApp(app)) return app;
  throw new ConfigError(`app ${JSON.stringify(app)} is not valid. Use module:name, for example ${DEFAULT_APP}.`);
}

function withAdvice(error: unknown): never {
  if (!(error instanceof ProviderError) || error.code !== "PROVIDER_UNAVAILABLE") throw error;
  const message = `${error.message} Install uv (https://docs.astral.sh/uv) and make sure that it is on the PATH.`;
  throw new ProviderError(error.code, message, { cause: error });
}
