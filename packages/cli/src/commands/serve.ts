import { type Command, InvalidArgumentError, Option } from "commander";
import { loadSettings, renderDefault, type Setting } from "openenv-ts/internal";
import type { ServeOptions } from "openenv-ts/server";
import { ENVIRONMENT_PLACES, locateEnvironment } from "../project/find-environment.js";
import { applyPort, applyVariables } from "../serve/apply-manifest.js";
import { describeStart, renderStart } from "../serve/banner.js";
import { fetchTarget } from "../serve/fetch-target.js";
import { makeOperatorToken } from "../serve/operator-token.js";
import { RUNTIMES, type RuntimeName, runIn, runtimeHere, STARTED_BY } from "../serve/other-runtime.js";
import { print } from "../terminal/output.js";

const { SETTINGS } = await loadSettings();

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
  openenv serve --host 0.0.0.0 --max-concurrent-envs 500 --log-level warn`;

interface ServeFlags extends Omit<ServeOptions, "sessionTimeout"> {
  sessionTimeout?: number | "none";
  watch?: boolean;
  reload?: boolean;
  runtime?: RuntimeName;
}

export function configureServe(command: Command): void {
  const settings = Object.entries<Setting<unknown, unknown>>(SETTINGS);
  for (const [name, one] of settings) if (one.flag !== undefined) command.addOption(createOption(name, one.flag, one));
  command
    .argument("[target]", "folder or module of the environment, a Space or a git URL", ".")
    .option("--watch", "restart when a source or data file changes")
    .option("--reload", "alias of --watch")
    .addOption(new Option("--runtime <name>", "what serves; default: what runs this command").choices(RUNTIMES))
    .addHelpText("after", EXAMPLES)
    .action(serveTarget);
}

async function serveTarget(target: string, { watch, reload, runtime, ...given }: ServeFlags): Promise<void> {
  if (runtime !== undefined && runtime !== runtimeHere()) return runIn(runtime);
  endWithParent();
  const { sessionTimeout, ...flags } = given;
  const timeout = sessionTimeout === "none" ? null : sessionTimeout;
  const options: ServeOptions = timeout === undefined ? flags : { ...flags, sessionTimeout: timeout };
  const { file, manifest } = await locateEnvironment(await fetchTarget(target));
  if (manifest) {
    applyVariables(manifest);
    applyPort(manifest);
  }
  if (watch || reload) {
    const { serveAndWatch } = await import("../serve/watch.js");
    await serveAndWatch(file, options, manifest?.version);
    return;
  }
  const operatorToken = makeOperatorToken();
  // A server on Bun or Deno is one process: what restarts it is outside.
  if (runtimeHere() !== "node") {
    const { serveModule } = await import("../serve/serve-module.js");
    print(await describeStart(await serveModule(file, options, manifest?.version), operatorToken));
    return;
  }
  const { superviseModule } = await import("../serve/supervise-module.js");
  const { url, about } = await superviseModule(file, options, manifest?.version);
  if (about !== undefined) print(await renderStart(url, about, operatorToken));
}

/** The flag of a setting: `sessionTimeout` is `--session-timeout`. */
function createOption(name: string, flag: string, setting: Setting<unknown, unknown>): Option {
  const { kind, variable } = setting;
  const shown = renderDefault(setting);
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
