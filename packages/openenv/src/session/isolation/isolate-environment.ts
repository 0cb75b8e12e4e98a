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

/** How sessions are isolated. */
export interface IsolationConfig {
  kind: "thread" | "process";
  /** The JavaScript module that exports the environment: a URL or an absolute path. */
  module: URL | string;
  /** That many isolates, shared by all sessions; undefined for an isolate of its own for every session. */
  isolatePoolSize: number | undefined;
  /** Isolates kept ready for sessions to come, where each has its own. */
  isolateSpares: number;
  /** Milliseconds a call may take before its session is killed; undefined for no limit. */
  stepTimeoutMs: number | undefined;
  /** Megabytes: of JavaScript heap in a thread, of all memory in a process. */
  isolateMemoryMb: number | undefined;
}

/** A definition whose sessions live elsewhere; what is left of them ends with {@link close}. */
export interface IsolatedDefinition extends EnvironmentDefinition {
  close(): Promise<void>;
}

/**
 * The same environment, each session of which lives in a worker thread or a child process. Resolves when the first one
 * stands ready.
 * @throws ConfigError when the module does not load there, or does not export this environment.
 */
export async function isolateEnvironment(
  definition: EnvironmentDefinition,
  config: IsolationConfig,
  log: Log,
): Promise<IsolatedDefinition> {
  const { kind, module, isolatePoolSize, isolateSpares, stepTimeoutMs } = config;
  const starter = new IsolateSpawner(() => startIsolate(config, log), definition.contract.name);
  const pool =
    isolatePoolSize === undefined
      ? new ExclusivePool(starter, isolateSpares)
      : new SharedPool(starter, isolatePoolSize);
  try {
    await pool.prepare();
  } catch (error) {
    await pool.close();
    throw new ConfigError(`A ${kind} for ${module} cannot be used: ${(error as Error).message}`, { cause: error });
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
