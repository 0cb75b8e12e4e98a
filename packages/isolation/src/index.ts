import { pathToFileURL } from "node:url";
import { ConfigError } from "#core/errors.js";
import type { IsolationConfig } from "#core/server/config/config.js";
import type { IsolationPart } from "#core/server/parts/isolation.js";
import type { Log } from "#core/util/log.js";
import { startProcess } from "./channels/process.js";
import { startThread } from "./channels/thread.js";
import { Isolate } from "./isolate.js";
import { IsolateSpawner } from "./isolate-spawner.js";
import type { IsolateResources } from "./isolate-variables.js";
import { createIsolatedEnvironment } from "./isolated-environment.js";
import { ExclusivePool } from "./pools/exclusive.js";
import { SharedPool } from "./pools/shared.js";

export const startHost: IsolationPart["startHost"] = async (definition, config, log) => {
  const { kind, module, isolatePoolSize, isolateSpares, stepTimeoutMs } = config;
  const values = (await definition.resources?.shared()) ?? {};
  // An isolate with one session needs no spares.
  const resources = JSON.stringify({ values, spares: isolatePoolSize !== undefined } satisfies IsolateResources);
  const spawner = new IsolateSpawner(() => startIsolate(config, resources, log), definition.contract.name);
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
    create: () => createIsolatedEnvironment(pool, { tools, stepTimeoutMs }),
    [Symbol.asyncDispose]: () => pool.close(),
  };
};

function startIsolate(config: IsolationConfig, resources: string, log: Log): Isolate {
  const { kind, module, isolatePoolSize, isolateMemoryMb } = config;
  const start = kind === "thread" ? startThread : startProcess;
  const channel = start({ module: moduleUrl(module), memoryMb: isolateMemoryMb, resources });
  return new Isolate(channel, { shared: isolatePoolSize !== undefined, log });
}

function moduleUrl(module: URL | string): string {
  return module instanceof URL || URL.canParse(module) ? String(module) : pathToFileURL(module).href;
}
