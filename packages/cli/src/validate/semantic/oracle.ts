import { spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { createInterface } from "node:readline";
import { signalGroup } from "@openenv-ts/providers/internal";
import { ConfigError, checker, isObject } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { importModule } from "../../project/load-environment.js";

/** What an oracle gets; `last` is the data of the last answer: `{observation, reward, done}`. */
export interface OracleInput {
  task: JsonObject;
  state: JsonObject;
  last: JsonObject;
}

/** A policy that solves every task. */
export interface Oracle {
  /** The next action; undefined when there is nothing left to do. @throws CheckBroken when the oracle fails. */
  act(input: OracleInput): Promise<JsonObject | undefined>;
  /** Judges by the state alone if the task is solved; undefined if not declared. @throws CheckBroken when it fails. */
  solved: ((task: JsonObject, state: JsonObject) => Promise<boolean>) | undefined;
  close(): void;
}

/** The time that the oracle has for an action. */
const TIMEOUT_MS = 60_000;
/** The lines of a script's standard error that an error shows. */
const SHOWN_LINES = 5;
const KEPT_CHARACTERS = 4_000;

/**
 * Loads an oracle: a JavaScript or TypeScript module with a function `oracle`, or any other executable file, which gets
 * each input as a line of JSON and answers with a line: an action, or null.
 * @throws ConfigError when there is no such file, or it has no oracle.
 */
export async function loadOracle(file: string): Promise<Oracle> {
  const path = resolve(file);
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) throw new ConfigError(`No such file: ${file}, the oracle. Correct its path.`);
  return /\.[cm]?[jt]s$/.test(path) ? await loadFunction(path, file) : loadScript(path, file);
}

async function loadFunction(path: string, name: string): Promise<Oracle> {
  const { exports } = await importModule(path);
  const { oracle = exports["default"], solved } = exports;
  if (typeof oracle !== "function") {
    throw new ConfigError(`${name} exports no function; export const oracle = (task, state) => action.`);
  }
  const isSolved = async (...args: unknown[]): Promise<boolean> => Boolean(await (solved as Call)(...args));
  return {
    act: ({ task, state, last }) =>
      limit(`the oracle ${name}`, async () => readAction(await (oracle as Call)(task, state, last))),
    solved:
      typeof solved === "function"
        ? (task, state) => limit(`solved of the oracle ${name}`, () => isSolved(task, state))
        : undefined,
    close: () => {},
  };
}

type Call = (...args: unknown[]) => unknown;

function loadScript(path: string, name: string): Oracle {
  let script: ReturnType<typeof start> | undefined;
  const answer = async (input: OracleInput): Promise<JsonObject | undefined> => {
    script ??= start(path);
    return readAction(JSON.parse(await script.ask(JSON.stringify(input))) as unknown);
  };
  return {
    act: (input) => limit(`the oracle ${name}`, () => answer(input)),
    solved: undefined,
    close: () => script?.close(),
  };
}

/** Starts a script in its own process group, which is killed when the script ends. */
function start(path: string) {
  const child = spawn(path, { cwd: dirname(path), stdio: "pipe", detached: true });
  const kill = (): void => {
    if (child.pid !== undefined) signalGroup(child.pid, "SIGKILL");
  };
  const ended = new Promise<string>((resolve) => {
    child.once("error", ({ message }) => resolve(message));
    child.once("exit", kill);
    child.once("close", (code, signal) =>
      resolve(`it ${code === null ? `was killed by ${signal}` : `exited with code ${code}`} without an answer`),
    );
  });
  // A script that has ended is reported by the missing answer.
  child.stdin.on("error", () => {});
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-KEPT_CHARACTERS);
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    ask: async (input: string): Promise<string> => {
      child.stdin.write(`${input}\n`);
      const { value, done } = await lines.next();
      if (!done) return value;
      const reason = await ended;
      throw new Error([reason, ...errors.trim().split("\n").slice(-SHOWN_LINES)].join("\n").trim());
    },
    close: () => {
      // The id of a process that has ended may be the id of another one now.
      if (child.exitCode === null && child.signalCode === null) kill();
    },
  };
}

function readAction(value: unknown): JsonObject | undefined {
  if (value == null) return undefined;
  if (isObject(value)) return value;
  throw new TypeError(`it returned ${checker.show(value)}, which is not an action or null`);
}

/** @throws CheckBroken that begins with `what` when it fails or takes too long. */
async function limit<T>(what: string, run: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
  });
  try {
    return await Promise.race([run(), late]);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new checker.CheckBroken(`${what} failed: ${message}`, { cause });
  } finally {
    clearTimeout(timer);
  }
}
