import { createEnvClient, type EnvClient } from "./client/env-client.js";
import { type ConnectOptions, DEFAULT_TIMEOUT_MS } from "./client/options.js";
import { createSession } from "./client/session.js";
import { contractShape } from "./client/shape.js";
import type { TaskClient, TaskSplitInfo } from "./client/tasks.js";
import { type EnvironmentDefinition, isEnvironmentDefinition } from "./env/environment.js";
import { normaliseSplit, type TaskProvider } from "./env/tasks.js";
import { RemoteError } from "./errors.js";
import { createInProcessLink } from "./server/in-process.js";
import { renderMetadata } from "./server/metadata.js";

/** A client of an environment in this process: the same dispatch as behind a socket, and no socket. */
export async function connectInProcess(
  environment: EnvironmentDefinition,
  options: ConnectOptions,
): Promise<EnvClient> {
  if (!isEnvironmentDefinition(environment)) {
    throw new TypeError("connect() takes the URL of a server, or an environment that defineEnvironment made.");
  }
  const { contract } = environment;
  const open = async () => {
    try {
      return await createInProcessLink(environment, { timing: options.timing });
    } catch (cause) {
      const message = `The factory of "${contract.name}" failed: ${(cause as Error)?.message ?? cause}`;
      throw Object.assign(new RemoteError("FACTORY_ERROR", message, { factory_name: contract.name }), { cause });
    }
  };
  return createEnvClient({
    url: `in-process:${contract.name}`,
    session: await createSession(open, options.signal),
    shape: contractShape(contract),
    tasks: providerTasks(environment.tasks ?? {}),
    metadata: () => renderMetadata(environment),
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  });
}

/** The Task API without its server. */
function providerTasks(provider: TaskProvider): TaskClient {
  const ask = async <M extends keyof TaskProvider>(
    method: M,
    ...args: Parameters<NonNullable<TaskProvider[M]>>
  ): Promise<Awaited<ReturnType<NonNullable<TaskProvider[M]>>>> => {
    const call = provider[method] as ((...args: unknown[]) => unknown) | undefined;
    if (!call) throw new RemoteError("TASKS_NOT_SUPPORTED", `The environment's task provider has no ${method}.`);
    try {
      return (await call.apply(provider, args)) as Awaited<ReturnType<NonNullable<TaskProvider[M]>>>;
    } catch (error) {
      if (error instanceof RangeError) throw new RemoteError("REQUEST_FAILED", error.message, { status: 400 });
      throw error;
    }
  };
  return {
    splits: async () => (await ask("splits")).map(normaliseSplit) as TaskSplitInfo[],
    list: async (split) => [...(await ask("list", split))],
    count: (split) => ask("count", split),
    get: (split, index) => ask("get", split, index),
    range: async (split, start, stop) => [...(await ask("range", split, start, stop))],
  };
}
