import { type Command, InvalidArgumentError, Option } from "commander";
import type { ServeOptions } from "openenv-ts/server";
import { ENVIRONMENT_PLACES, locateEnvironment } from "../project/find-environment.js";
import { applyPort, applyVariables } from "../serve/apply-manifest.js";
import { renderStart } from "../serve/banner.js";
import { fetchTarget } from "../serve/fetch-target.js";
import { makeOperatorToken } from "../serve/operator-token.js";
import { secondsAboveZero, wholeNumber } from "../terminal/option-values.js";
import { print } from "../terminal/output.js";

const EXAMPLES = `
A folder's environment is the one that its openenv.yaml names, else the first of
${ENVIRONMENT_PLACES.join(", ")}
(.ts, .mts, .js, .mjs). Its default export is what defineEnvironment returns.

A Space (owner/name) or a git repository (https://…, a branch, tag or commit after a #) is
fetched into the cache folder, its packages are installed, and it is served from there: its
code runs with your rights.

Examples:
  openenv serve
  openenv serve envs/echo --port 9000
  openenv serve openenv/echo_env
  openenv serve https://github.com/owner/name.git#v1.2
  openenv serve server/environment.ts --watch
  openenv serve --host 0.0.0.0 --max-concurrent-envs 500 --log-level warn`;

interface ServeFlags extends ServeOptions {
  watch?: boolean;
  reload?: boolean;
}

export function configureServe(command: Command): void {
  command
    .argument("[target]", "folder or module of the environment, a Space or a git URL", ".")
    .option("--port <number>", "port to listen on, 0 for a free one (PORT, default 8000)", wholeNumber(0, 65535))
    .option("--host <address>", "address to listen on (HOST, default 127.0.0.1)")
    .option(
      "--allowed-hosts <names>",
      "names under which pages may use the server, comma separated (ALLOWED_HOSTS)",
      parseNames,
    )
    .option("--max-concurrent-envs <number>", "sessions at once (MAX_CONCURRENT_ENVS)", wholeNumber(1))
    .option(
      "--session-timeout <seconds>",
      'end a session without a socket after this long, or "none" (SESSION_TIMEOUT, default 900)',
      parseTimeout,
    )
    .addOption(
      new Option("--mode <mode>", "production leaves out HTTP reset, step and state (OPENENV_MODE)").choices([
        "simulation",
        "production",
      ]),
    )
    .addOption(
      new Option("--isolation <kind>", "where each session lives (ISOLATION, default none)").choices([
        "none",
        "thread",
        "process",
      ]),
    )
    .option(
      "--isolate-pool-size <number>",
      "threads or processes shared by all sessions (ISOLATE_POOL_SIZE)",
      wholeNumber(1, 1024),
    )
    .option(
      "--isolate-spares <number>",
      "isolates kept ready for sessions to come (ISOLATE_SPARES, default 1)",
      wholeNumber(0, 1024),
    )
    .option(
      "--isolate-memory-mb <number>",
      "memory limit of an isolate, in MB (ISOLATE_MEMORY_MB)",
      wholeNumber(1, 1_000_000),
    )
    .option("--step-timeout <seconds>", "kill an isolated session that takes longer (STEP_TIMEOUT)", secondsAboveZero)
    .option("--workers <number>", 'processes behind the one address, or "auto" (WORKERS, default 1)', parseWorkers)
    .option(
      "--queue-size <number>",
      "peers that may wait for a session, per worker (QUEUE_SIZE, default 0)",
      wholeNumber(0),
    )
    .option("--queue-timeout <seconds>", "how long one may wait (QUEUE_TIMEOUT, default 30)", secondsAboveZero)
    .option("--watch", "restart when a source or data file changes")
    .option("--reload", "the same as --watch")
    .addOption(
      new Option("--log-level <level>", "least level that is logged (LOG_LEVEL, default info)").choices([
        "trace",
        "debug",
        "info",
        "warn",
        "error",
        "fatal",
        "silent",
      ]),
    )
    .addHelpText("after", EXAMPLES)
    .action(serveTarget);
}

async function serveTarget(target: string, { watch, reload, ...options }: ServeFlags): Promise<void> {
  endWithParent();
  const { file, manifest } = await locateEnvironment(await fetchTarget(target));
  if (manifest) {
    applyVariables(manifest);
    applyPort(manifest);
  }
  if (options.sessionTimeout === Number.POSITIVE_INFINITY) options.sessionTimeout = null;
  if (watch || reload) {
    const { serveAndWatch } = await import("../serve/watch.js");
    await serveAndWatch(file, options, manifest?.version);
    return;
  }
  const operatorToken = makeOperatorToken();
  const { superviseModule } = await import("../serve/supervise-module.js");
  const { url, about } = await superviseModule(file, options, manifest?.version);
  if (about !== undefined) print(await renderStart(url, about, operatorToken));
}

function parseWorkers(text: string): number | "auto" {
  return text === "auto" ? text : wholeNumber(1, 1024)(text);
}

function parseNames(text: string): string[] {
  return text.split(",");
}

/** Infinity stands for none: the option parser would turn a null into an empty text. */
function parseTimeout(text: string): number {
  if (text === "none") return Number.POSITIVE_INFINITY;
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('Give a number of seconds above 0, or "none".');
}

const POLL_MS = 250;

/**
 * npm and npx hand a signal to their shell, which ends and passes nothing on: what they started notices that it was
 * left alone, and ends as it would by the signal. Started by anything else, a server outlives whoever started it.
 */
function endWithParent(): void {
  if (process.env["npm_command"] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, POLL_MS);
  timer.unref();
}
