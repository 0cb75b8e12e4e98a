import { type Command, InvalidArgumentError, Option } from "commander";
import { loadSettings } from "openenv-ts/internal";
import type { ServeOptions } from "openenv-ts/server";
import { ENVIRONMENT_PLACES, locateEnvironment } from "../project/find-environment.js";
import { applyPort, applyVariables } from "../serve/apply-manifest.js";
import { describeStart, renderStart } from "../serve/banner.js";
import { checkTypes } from "../serve/check-types.js";
import { fetchTarget } from "../serve/fetch-target.js";
import { findPlugin, findPlugins, loadPlugins } from "../serve/load-plugins.js";
import { makeOperatorToken } from "../serve/operator-token.js";
import { RUNTIMES, type RuntimeName, runIn, runtimeHere, STARTED_BY } from "../serve/other-runtime.js";
import type { ServedModule } from "../serve/serve-module.js";
import { addUpstreamOptions, serveUpstreams, takeUpstreamFlags, type UpstreamFlags } from "../serve/serve-upstream.js";
import { print } from "../terminal/output.js";

const SETTINGS = (await loadSettings()).listSettings();

const EXAMPLES = `
The environment of a folder is the file that openenv.yaml names, or the first of
${ENVIRONMENT_PLACES.join(", ")}
(.ts, .mts, .js, .mjs). Its default export is the result of defineEnvironment.

A Space (owner/name) or a git repository (https://…, with a branch, tag or commit after #) is
downloaded to the cache folder, and its packages are installed. Its code runs with your
permissions.

Examples:
  openenv serve
  openenv serve envs/echo --port 9000
  openenv serve openenv/echo_env
  openenv serve https://github.com/owner/name.git#v1.2
  openenv serve server/environment.ts --watch
  openenv serve --runtime bun
  openenv serve --host 0.0.0.0 --max-concurrent-envs 500 --log-level warn
  openenv serve --upstream "python -m my_env" --processes 24
  openenv serve --upstream http://host-1:8000 --upstream http://host-2:8000`;

interface ServeFlags extends Omit<ServeOptions, "sessionTimeout">, UpstreamFlags {
  sessionTimeout?: number | "none";
  watch?: boolean;
  reload?: boolean;
  check?: boolean;
  runtime?: RuntimeName;
  plugin?: string[];
  allowPlugins?: boolean;
}

export function configureServe(command: Command): void {
  for (const { flag, ...setting } of SETTINGS) {
    if (flag !== undefined) command.addOption(createOption(flag, setting));
  }
  addUpstreamOptions(command)
    .argument("[target]", "folder or module of the environment, a Space or a git URL", ".")
    .option("--watch", "restart when a source or data file changes")
    .option("--reload", "alias of --watch")
    .option("--check", "check the types first, which serve does not do otherwise")
    .option("--plugin <module>", "file or package with a plugin of the server, may be repeated", collect)
    .option("--allow-plugins", "load the plugins that openenv.yaml of a local folder names")
    .addOption(new Option("--runtime <name>", "what serves; default: what runs this command").choices(RUNTIMES))
    .addHelpText("after", EXAMPLES)
    .action(serveTarget);
}

async function serveTarget(target: string, flags: ServeFlags): Promise<void> {
  const { watch, reload, check, runtime, plugin = [], allowPlugins = false, ...rest } = flags;
  if (runtime !== undefined && runtime !== runtimeHere()) return runIn(runtime);
  endWithParent();
  const { upstream, given } = takeUpstreamFlags(rest);
  const { sessionTimeout, ...others } = given;
  const timeout = sessionTimeout === "none" ? null : sessionTimeout;
  const options: ServeOptions = timeout === undefined ? others : { ...others, sessionTimeout: timeout };
  if (upstream !== undefined) {
    const operatorToken = makeOperatorToken();
    const plugins = await loadPlugins(plugin.map((named) => findPlugin(named)));
    return print(await describeStart(await serveUpstreams(upstream, { ...options, plugins }), operatorToken));
  }
  const folder = await fetchTarget(target);
  const { file, manifest } = await locateEnvironment(folder);
  if (check) await checkTypes(file);
  const plugins = findPlugins({ given: plugin, folder, manifest, isAllowed: allowPlugins && folder === target });
  const served: ServedModule = { file, options, version: manifest?.version, plugins };
  if (manifest) {
    applyVariables(manifest);
    applyPort(manifest, options.port);
  }
  if (watch || reload) {
    const { serveAndWatch } = await import("../serve/watch.js");
    await serveAndWatch(served);
    return;
  }
  const operatorToken = makeOperatorToken();
  // A server on Bun or Deno is one process: what restarts it is outside.
  if (runtimeHere() !== "node") {
    const { serveModule } = await import("../serve/serve-module.js");
    print(await describeStart(await serveModule(served), operatorToken));
    return;
  }
  const { superviseModule } = await import("../serve/supervise-module.js");
  const { url, about } = await superviseModule(served);
  if (about !== undefined) print(await renderStart(url, about, operatorToken));
}

function collect(file: string, files: readonly string[] = []): string[] {
  return [...files, file];
}

/** The flag of a setting: `sessionTimeout` is `--session-timeout`. */
function createOption(flag: string, { name, kind, variable, shown }: Omit<(typeof SETTINGS)[number], "flag">): Option {
  const source = shown === undefined ? variable : `${variable}, default ${shown}`;
  const [placeholder, help] = flag.split(/ (.*)/);
  const flags = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} ${placeholder}`;
  const option = new Option(flags, `${help} (${source})`);
  if (kind.choices !== undefined) return option.choices(kind.choices);
  return option.argParser((text) => {
    const value = kind.parse(text);
    if (value === undefined) throw new InvalidArgumentError(`Give ${kind.expects}.`);
    // The parser of the command line would turn null into an empty string.
    return value ?? text;
  });
}

const POLL_MS = 250;

/**
 * npm and npx signal only their shell, which exits without forwarding the signal. A server that they started, or a
 * command in another runtime, therefore exits when its parent is gone. Started in any other way, it outlives its parent.
 */
function endWithParent(): void {
  if (process.env["npm_command"] === undefined && process.env[STARTED_BY] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, POLL_MS);
  timer.unref();
}
