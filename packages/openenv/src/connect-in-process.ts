import { contractShape, genericShape } from "./client/contract/shape.js";
import { type ClientParts, createEnvClient, type EnvClient } from "./client/env-client.js";
import { connectAborted } from "./client/failures.js";
import { type ConnectOptions, DEFAULT_CONNECT_TIMEOUT_MS, DEFAULT_TIMEOUT_MS } from "./client/options.js";
import type { TaskClient, TaskSplitInfo } from "./client/tasks.js";
import { type ConnectToolsOptions, createToolClient, type McpToolClient } from "./client/tools/mcp-client.js";
import { type AskRpc, toRpcAnswer } from "./client/tools/mcp-production.js";
import { withLimits } from "./client/transport/limits.js";
import { ClientSession } from "./client/transport/session.js";
import { type EnvironmentDefinition, isEnvironmentDefinition } from "./environment/environment.js";
import type { TaskMethod, TaskProvider } from "./environment/tasks/tasks.js";
import { ConnectionError, RemoteError } from "./errors.js";
import type { JsonObject } from "./protocol/messages.js";
import type { Transport } from "./protocol/transport.js";
import { renderMetadata } from "./server/routes/metadata.js";
import { askTasks } from "./session/calls/ask-tasks.js";
import { createInProcessTransport, type InProcessOptions } from "./session/doors/in-process.js";
import { silentLog } from "./util/log.js";

/** A client of an environment in this process. Calls take the same path as on a server, without a socket. */
export async function connectInProcess(
  environment: EnvironmentDefinition,
  options: ConnectOptions,
): Promise<EnvClient> {
  return createEnvClient(await prepare(environment, options, "connect"));
}

/**
 * Does the same as {@link connectInProcess} with values of the wire: bytes and dates are text. Tools are called outside
 * of the episode. With recorded events, the environment gets from outside what these got.
 */
export async function connectUntyped(
  environment: EnvironmentDefinition,
  repeats?: InProcessOptions["repeats"],
): Promise<McpToolClient> {
  const parts = await prepare(environment, { repeats }, "connect");
  const untyped = { ...parts, shape: genericShape(() => []) };
  return createToolClient(untyped, { mode: "production", ask: askInSession });
}

/** Does the same as {@link connectInProcess}, and calls tools by name; production mode calls them with `mcp` frames. */
export async function connectToolsInProcess(
  environment: EnvironmentDefinition,
  { mode = "simulation", ...options }: ConnectToolsOptions,
): Promise<McpToolClient> {
  const parts = await prepare(environment, options, "connectTools");
  return createToolClient(parts, { mode, ask: askInSession });
}

function askInSession(session: ClientSession): AskRpc {
  return async (method, params, call) => {
    const data = { jsonrpc: "2.0", method, params, id: 1 };
    return toRpcAnswer((await session.call({ type: "mcp", data }, call)).data);
  };
}

async function prepare(
  environment: EnvironmentDefinition,
  options: ConnectOptions & InProcessOptions,
  caller: string,
): Promise<ClientParts> {
  if (!isEnvironmentDefinition(environment)) {
    throw new TypeError(`${caller}() takes the URL of a server or an environment from defineEnvironment().`);
  }
  const { contract } = environment;
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const open = (signal: AbortSignal | undefined) => openTransport(environment, options, signal);
  return {
    url: `in-process:${contract.name}`,
    session: new ClientSession({ open, timeoutMs }, await open(options.signal)),
    shape: contractShape(contract),
    tasks: inProcessTasks(environment),
    metadata: () => renderMetadata(environment),
    schemas: async () => contract.schemas(),
  };
}

/** The connect timeout limits the factory. An environment that is created too late is closed. */
async function openTransport(
  environment: EnvironmentDefinition,
  { connectTimeoutMs: timeoutMs = DEFAULT_CONNECT_TIMEOUT_MS, ...options }: ConnectOptions & InProcessOptions,
  signal: AbortSignal | undefined,
): Promise<Transport> {
  if (signal?.aborted) throw connectAborted(signal);
  const opening = createInProcessTransport(environment, options);
  try {
    return await withLimits(opening, { timeoutMs, signal }, () => {
      opening.then(
        (transport) => transport.close(),
        () => {},
      );
    });
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    if (signal?.aborted) throw connectAborted(signal);
    const { name } = environment.contract;
    throw new ConnectionError(
      "CONNECTION_FAILED",
      `The factory of "${name}" did not create an environment within ${timeoutMs} ms.`,
      { cause: error },
    );
  }
}

/** Reads tasks from the environment's task provider directly. */
function inProcessTasks(definition: EnvironmentDefinition): TaskClient {
  const runtime = { number: 0, definition, mode: "simulation", log: silentLog } as const;
  const ask = async <K extends TaskMethod>(
    method: K,
    ...args: Parameters<NonNullable<TaskProvider[K]>>
  ): Promise<unknown> => {
    const found = await askTasks(runtime, method, args);
    if ("value" in found) return found.value;
    const { status, message } = found;
    throw new RemoteError(status === 501 ? "TASKS_NOT_SUPPORTED" : "REQUEST_FAILED", message, { status });
  };
  return {
    splits: async () => (await ask("splits")) as TaskSplitInfo[],
    list: async (split) => (await ask("list", split)) as JsonObject[],
    count: async (split) => (await ask("count", split)) as number,
    get: async (split, index) => (await ask("get", split, index)) as JsonObject,
    range: async (split, start, stop) => (await ask("range", split, start, stop)) as JsonObject[],
  };
}
