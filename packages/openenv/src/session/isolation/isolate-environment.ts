import { pathToFileURL } from "node:url";
import type { EnvironmentDefinition } from "../../environment/environment.js";
import { ConfigError } from "../../errors.js";
import type { Log } from "../../util/log.js";
import { startProcess } from "./channels/process.js";
import { startThread } from "./channels/thread.js";
import { Isolate } from "./isolate.js";
import { IsolateSpawner } from "./isolate-spawner.js";
import { createIsolatedEnvironment } from "./isolated-environment.js";
import { ExclusivePool } from "./pools/exclusive.js";
import { SharedPool } from "./pools/shared.js";

/** Configuration of isolation. */
export interface IsolationConfig {
  kind: "thread" | "process";
  /** The JavaScript module that exports the environment: a URL or an absolute path. */
  module: URL | string;
  /** Number of isolates that all sessions share; undefined for one isolate per session. */
  isolatePoolSize: number | undefined;
  /** Number of isolates kept ready for new sessions, with one isolate per session. */
  isolateSpares: number;
  /** Time limit of a call in milliseconds, after which its session is killed; undefined for no limit. */
  stepTimeoutMs: number | undefined;
  /** Memory limit in megabytes: JavaScript heap of a thread, all memory of a process. */
  isolateMemoryMb: number | undefined;
}

/** A definition whose sessions run in isolates; {@link close} ends all of them. */
export interface IsolatedDefinition extends EnvironmentDefinition {
  close(): Promise<void>;
}

/**
 * Returns the environment with each session in a worker thread or a child process. Resolves when the first isolate (or
 * the whole pool) is ready.
 * @throws ConfigError when the module cannot be loaded in an isolate or does not export this environment.
 */
export async function isolateEnvironment(
  definition: EnvironmentDefinition,
  config: IsolationConfig,
  log: Log,
): Promise<IsolatedDefinition> {
  const { kind, module, isolatePoolSize, isolateSpares, stepTimeoutMs } = config;
  const spawner = new IsolateSpawner(() => startIsolate(config, log), definition.contract.name);
  const pool =
    isolatePoolSize === undefined
      ? new ExclusivePool(spawner, isolateSpares)
      : new SharedPool(spawner, isolatePoolSize);
  try {
    await pool.prepare();
  } catch (error) {
    await pool.close();
    throw new ConfigError(`Cannot isolate ${module} in a ${kind}: ${(error as Error).message}`, { cause: error });
  }
  const tools = Object.keys(definition.contract.tools);
  return {
    ...definition,
    create: () => createIsolatedEnvironment(pool, { tools, stepTimeoutMs }),
    close: () => pool.close(),
  };
}

function startIsolate({ kind, module, isolatePoolSize, isolateMemoryMb }: IsolationConfig, log: Log): Isolate {
  const start = kind === "thread" ? startThread : startProcess;
  const channel = start({ module: moduleUrl(module), memoryMb: isolateMemoryMb });
  return new Isolate(channel, { shared: isolatePoolSize !== undefined, log });
}

function moduleUrl(module: URL | string): string {
  return module instanceof URL || URL.canParse(module) ? String(module) : pathToFileURL(module).href;
}
