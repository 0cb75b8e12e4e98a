import { ConfigError } from "../../errors.js";
import { STATUS } from "../../protocol/http.js";
import { errorData } from "../../protocol/messages.js";
import type { Principal } from "../../session/attachable-session.js";
import { toError } from "../../session/to-error.js";
import { isThenable } from "../../util/async/thenable.js";
import { isObject } from "../../util/is-object.js";
import type { Log } from "../../util/log.js";
import type { Eventual, MaybePromise } from "../../util/types.js";
import type { PluginRefusal } from "./plugin.js";

/** The time that a hook may take. */
export const HOOK_MS = 5_000;

/** What a hook returns, unless it is nothing or a refusal. Another value, such as `false`, must not let a peer in. */
const RESULTS: Readonly<Record<string, readonly [what: string, is: (value: object) => boolean]>> = {
  authorize: ["a principal with a name", (value) => typeof (value as Principal).name === "string"],
  admit: ["a Disposable", (value) => typeof (value as Disposable)[Symbol.dispose] === "function"],
  session: [
    "hooks (around, record, mustRecord, views, brief, committed, detached, ended) without other members",
    isSessionHooks,
  ],
};
const FLAGS: readonly string[] = ["mustRecord", "views", "brief"];
const SESSION_HOOKS: readonly string[] = ["around", "record", ...FLAGS, "committed", "detached", "ended"];

/** Calls the hooks of one plugin, and counts and logs those that fail. */
export class HookCaller {
  /** The number of hooks that have failed since the start. */
  failures = 0;
  readonly name: string;
  readonly #log: Log;

  constructor(name: string, log: Log) {
    this.name = name;
    this.#log = log;
  }

  /** The result of a hook; a refusal if it fails or takes too long. Sync for a sync hook. Never throws or rejects. */
  call<T>(hook: string, work: () => MaybePromise<T>): Eventual<Exclude<T, void> | PluginRefusal | undefined> {
    const failed = (error: unknown): PluginRefusal => this.fail(hook, error);
    try {
      const value = work() as MaybePromise<Exclude<T, void> | undefined>;
      if (!isThenable(value)) return checkResult(hook, value);
      if (hook === "session") {
        value.then(undefined, () => {});
        throw new TypeError("it must not return a promise: a session cannot wait for its hooks");
      }
      return inTime(value, (late) => this.#dispose(late))
        .then((result) => checkResult(hook, result))
        .catch(failed);
    } catch (error) {
      return failed(error);
    }
  }

  /** Nothing else would release what a late hook holds. */
  #dispose(late: unknown): void {
    void this.call("dispose", () => (late as Partial<Disposable> | null | undefined)?.[Symbol.dispose]?.());
  }

  /** Counts and logs a failure. Returns the refusal for a request that has not reached the environment. */
  fail(hook: string, error: unknown): PluginRefusal {
    this.failures++;
    this.#log.error({ err: error, plugin: this.name, hook }, "a plugin failed");
    return { code: "PLUGIN_FAILED", message: `The plugin "${this.name}" failed in ${hook}: try again later.` };
  }
}

/** Another member is a misspelled one, which would have no effect. */
function isSessionHooks(value: object): boolean {
  const typeOf = (name: string): string => (FLAGS.includes(name) ? "boolean" : "function");
  return Object.entries(value).every(
    ([name, given]) => SESSION_HOOKS.includes(name) && (given === undefined || typeof given === typeOf(name)),
  );
}

/** Returns the value. @throws TypeError for one that the hook must not return. */
function checkResult<T>(hook: string, value: T): T {
  const expected = RESULTS[hook];
  if (value === undefined || expected === undefined || isRefusal(value)) return value;
  const [what, is] = expected;
  if (isObject(value) && is(value)) return value;
  throw new TypeError(`it must return ${what}, a refusal, or nothing`);
}

/** Rejects when the work takes longer than a hook may. `late` gets what it returns later. */
export function inTime<T>(work: PromiseLike<T>, late: (value: T) => void = () => {}): Promise<T> {
  let timer: NodeJS.Timeout;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(tooLate());
      work.then(late, () => {});
    }, HOOK_MS);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}

/** What another process gets. @throws TypeError for what JSON cannot have. */
export function copyJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? "null");
}

export function tooLate(): Error {
  return new Error(`it took longer than ${HOOK_MS / 1000} s`);
}

/** True for a refusal. @throws TypeError for one whose code is not in the table of errors. */
export function isRefusal(value: unknown): value is PluginRefusal {
  if (!isObject(value) || typeof value["code"] !== "string" || typeof value["message"] !== "string") return false;
  if (Object.hasOwn(STATUS, value["code"])) return true;
  throw new TypeError(`the code of a refusal, "${value["code"]}", is not in the table of errors`);
}

export function refusalData({ code, message }: PluginRefusal): ReturnType<typeof errorData> {
  return errorData(code, message);
}

/** Runs a part of the start. @throws ConfigError that names the plugin. */
export async function startPart<T>(name: string, start: () => MaybePromise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    throw new ConfigError(`The plugin "${name}" failed to start: ${toError(error).message}`, { cause: error });
  }
}
