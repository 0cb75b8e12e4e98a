import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { createInterface } from "node:readline";
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
  /** Judges by the state alone if the task is solved; undefined if the author has not declared it. */
  solved: ((task: JsonObject, state: JsonObject) => boolean) | undefined;
  close(): void;
}

/** The time that the oracle has for an action. */
const TIMEOUT_MS = 60_000;

/**
 * Loads an oracle: a JavaScript or TypeScript module with a function `oracle`, or any other executable file, which gets
 * each input as a line of JSON and answers with a line: an action, or null.
 * @throws ConfigError when there is no such file, or it has no oracle.
 */
export async function loadOracle(file: string): Promise<Oracle> {
  const path = resolve(file);
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) throw new ConfigError(`No such file: ${file}, the oracle. Correct its path.`);
  return /\.[cm]?[jt]s$/.test(path) ? await loadFunction(path, file) : startScript(path, file);
}

async function loadFunction(path: string, name: string): Promise<Oracle> {
  const { exports } = await importModule(path);
  const { oracle = exports["default"], solved } = exports;
  if (typeof oracle !== "function") {
    throw new ConfigError(`${name} exports no function; export const oracle = (task, state) => action.`);
  }
  return {
    act: async ({ task, state, last }) => {
      try {
        return readAction(await limit((oracle as Call)(task, state, last)));
      } catch (cause) {
        throw new checker.CheckBroken(`the oracle ${name} failed: ${(cause as Error).message}`, { cause });
      }
    },
    solved: typeof solved === "function" ? (task, state) => Boolean((solved as Call)(task, state)) : undefined,
    close: () => {},
  };
}

type Call = (...args: unknown[]) => unknown;

function startScript(path: string, name: string): Oracle {
  let child: ChildProcessWithoutNullStreams | undefined;
  let lines: AsyncIterator<string>;
  let failure: Error | undefined;
  const start = (): ChildProcessWithoutNullStreams => {
    const started = spawn(path, { cwd: dirname(path), stdio: "pipe" });
    started.on("error", (error) => (failure = error));
    // A script that has ended is reported by the missing answer.
    started.stdin.on("error", () => {});
    started.stderr.resume();
    lines = createInterface({ input: started.stdout })[Symbol.asyncIterator]();
    return started;
  };
  return {
    act: async (input) => {
      child ??= start();
      child.stdin.write(`${JSON.stringify(input)}\n`);
      try {
        const { value, done } = await limit(lines.next());
        if (done) throw failure ?? new Error("it ended without an answer");
        return readAction(JSON.parse(value) as unknown);
      } catch (cause) {
        throw new checker.CheckBroken(`the oracle ${name} failed: ${(cause as Error).message}`, { cause });
      }
    },
    solved: undefined,
    close: () => child?.kill(),
  };
}

function readAction(value: unknown): JsonObject | undefined {
  if (value == null) return undefined;
  if (isObject(value)) return value;
  throw new TypeError(`it returned ${checker.show(value)}, which is not an action or null`);
}

async function limit<T>(answer: T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
