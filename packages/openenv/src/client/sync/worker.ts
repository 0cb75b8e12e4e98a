/** The thread of a blocking client: an ordinary client, driven by the calls that come through a port. */
import { workerData } from "node:worker_threads";
import type { McpToolClient, TaskClient } from "../index.js";
import type { ConnectOptions } from "../options.js";
import { packError, type ServerAnswer, type SyncAnswer, type SyncCall, type WorkerSetup } from "./wire.js";

const setup = workerData as WorkerSetup;
const { port, flag } = setup;
const options = setup.options as ConnectOptions;
let client: McpToolClient | undefined;

port.on("message", async ({ method, args }: SyncCall) => {
  let answer: SyncAnswer;
  try {
    answer = { value: await perform(method, args) };
  } catch (error) {
    answer = { error: packError(error) };
  }
  port.postMessage(answer);
  wake();
});
wake();

function wake(): void {
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
}

async function perform(method: string, args: unknown[]): Promise<unknown> {
  if (method === "server") return fetchServer();
  if (method === "open") return void (client = await open());
  if (method === "close") return client?.close();
  if (!client) throw new TypeError("the client is not open");
  if (method === "sessionLost") return client.sessionLost;
  if (method === "tools") return Object.keys(client.tools);
  if (method === "tasks") {
    const [name, ...rest] = args as [keyof TaskClient, ...unknown[]];
    return (client.tasks[name] as (...args: unknown[]) => unknown)(...rest);
  }
  return (client[method as "reset" | "step" | "state" | "metadata" | "callTool"] as (...args: unknown[]) => unknown)(
    ...args,
  );
}

/** Loaded here, not at the top: a failure to load must reach the thread that waits. */
async function open(): Promise<McpToolClient> {
  const { connectTools } = await import("../index.js");
  return connectTools(setup.url, setup.typed ? { ...options, check: false } : options);
}

async function fetchServer(): Promise<ServerAnswer> {
  const [{ parseAddress }, check, { createHttpClient }, { DEFAULT_CONNECT_TIMEOUT_MS, requestHeaders }] =
    await Promise.all([
      import("../transport/address.js"),
      import("../contract/check.js"),
      import("../transport/http.js"),
      import("../options.js"),
    ]);
  const timeoutMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  const http = createHttpClient(parseAddress(setup.url), { headers: requestHeaders(options), timeoutMs });
  return { name: (await check.fetchMetadata(http))?.name, schema: await check.fetchSchema(http) };
}
