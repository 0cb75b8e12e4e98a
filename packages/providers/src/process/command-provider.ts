import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isSecretName } from "@openenv-ts/deploy";
import { ConfigError, ProviderError } from "openenv-ts";
import { findFreePort } from "openenv-ts/internal";
import { rejectReplicas, rejectSource, rejectUnknown } from "../lifecycle/check-options.js";
import { ANSWERS_RESET, type Readiness, startServer } from "../lifecycle/start.js";
import type { Provider, StartedServer, StartSpec } from "../provider.js";
import { type LaunchedProcess, launch } from "./launch.js";

export interface CommandProviderOptions {
  /**
   * A program and its arguments, separated by spaces; quotes keep spaces. No shell reads it: `$PORT` and `$HOST` are
   * replaced, and nothing else.
   */
  command: string;
}

/**
 * Starts a server in any language with a command, in the folder `directory`. The command must listen at `HOST`
 * (127.0.0.1) and `PORT` (a free port) of its environment. It gets the variables of this process without the tokens and
 * the addresses of an openenv-ts server, and those of `env`. It ends with everything that it started at `close()`, and
 * when this process ends, however it ends.
 * @throws ConfigError for an unknown option or a command that is empty or has an unclosed quote.
 * @example
 * await using server = await commandProvider({ command: "python -m my_env" }).start({ directory: "." });
 * await using env = await connect(server.url);
 */
export function commandProvider(options: CommandProviderOptions): Provider {
  rejectUnknown("commandProvider()", options, ["command"]);
  const { command } = options;
  checkCommand(command);
  const descriptor = { module: import.meta.url, factory: "commandProvider", options };
  return { name: NAME, descriptor, start: (spec) => startCommand(command, spec, { readiness: ANSWERS_RESET }) };
}

const NAME = "command";
const HOST = "127.0.0.1";

export interface StartedCommand extends StartedServer, Pick<LaunchedProcess, "pid" | "exit"> {}

export interface StartCommandOptions {
  readiness: Readiness;
  /** Called as soon as the process exists, and when all that it started has ended. */
  onSpawn?: ((pid: number) => void) | undefined;
  onEnd?: ((pid: number) => void) | undefined;
}

/** Starts a command as {@link commandProvider} does. @throws ProviderError with the last lines of its log. */
export async function startCommand(
  command: string,
  spec: StartSpec,
  { readiness, onSpawn, onEnd }: StartCommandOptions,
): Promise<StartedCommand> {
  rejectReplicas(NAME, spec);
  if (!("directory" in spec)) rejectSource(NAME, "a command in a folder", "use dockerProvider() or uvProvider()");
  const cwd = resolve(spec.directory);
  let child: LaunchedProcess | undefined;
  const started = await startServer(
    NAME,
    spec,
    async (start) => {
      if (!existsSync(cwd)) throw new ProviderError("SOURCE_NOT_FOUND", `There is no folder ${cwd}. Check the path.`);
      const address = { HOST, PORT: String(await findFreePort(HOST)) };
      const [program = "", ...args] = checkCommand(command).map((word) => fill(word, address));
      start.progress(`starting ${program}`);
      const env = { ...inherited(), ...spec.env, ...address };
      const task = { provider: NAME, source: command, command: program, args, cwd, env };
      start.onCleanup(() => {
        if (child) onEnd?.(child.pid);
      });
      child = await launch(start, task).catch(withAdvice);
      onSpawn?.(child.pid);
      const url = `http://${HOST}:${address.PORT}`;
      child.noteUrl(url);
      return { url, logs: child.logs, ended: child.ended };
    },
    readiness,
  );
  const { pid, exit } = child as unknown as LaunchedProcess;
  return { ...started, pid, exit };
}

const WORD = /(?:[^\s"']|"[^"]*"|'[^']*')+/g;

/** Returns the words of a command. @throws ConfigError when it has none, or an unclosed quote. */
export function checkCommand(command: string): string[] {
  if (typeof command !== "string" || command.trim() === "" || command.includes("\0"))
    throw new ConfigError('command must be a program with its arguments, for example "python -m my_env".');
  if (command.replace(WORD, "").trim() !== "") {
    throw new ConfigError(`The command ${JSON.stringify(command)} has a quote that is not closed. Close it.`);
  }
  return (command.match(WORD) ?? []).map((word) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ""),
  );
}

function fill(word: string, address: Readonly<Record<string, string>>): string {
  return word.replace(/\$(?:(HOST|PORT)\b|\{(HOST|PORT)\})/g, (_, plain?: string, braced?: string) => {
    return address[plain ?? braced ?? ""] ?? "";
  });
}

/** The variables of this process, without those that are for its own server alone. */
function inherited(): NodeJS.ProcessEnv {
  const isOwn = (name: string): boolean => OWN.test(name) || (/^OPENENV_/i.test(name) && isSecretName(name));
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOwn(name)));
}

/** Another server must not write to the journal of this one. */
const OWN = /^(?:HOST|PORT|WORKERS|JOURNAL|OPENENV_WORKER_NUMBER|npm_command)$/i;

function withAdvice(error: unknown): never {
  if (!(error instanceof ProviderError) || error.code !== "PROVIDER_UNAVAILABLE") throw error;
  const message = `${error.message} Check the program and the PATH. No shell runs the command; use sh -c '…' for one.`;
  throw new ProviderError(error.code, message, { cause: error });
}
