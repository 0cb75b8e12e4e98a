import { ConnectionError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { MetadataBody } from "../../protocol/published.js";
import { compareSchemas } from "../contract/compare-schemas.js";
import type { ClientContract } from "../contract/contract.js";
import { contractShape, genericShape, type Shape } from "../contract/shape.js";
import { type EpisodeState, type StepResult, toFailedResult } from "../result.js";
import type { ToolCallResult } from "../tools/mcp-result.js";
import { parseAddress } from "../transport/address.js";
import { type SyncChannel, startChannel } from "./channel.js";
import type { SyncCallOptions, SyncConnectOptions, SyncEnvClient, SyncTaskClient } from "./types.js";
import type { ServerAnswer } from "./wire.js";

/**
 * Opens one session of an environment, like `connect`, with calls that block this thread until the answer arrives;
 * a separate thread does the work. For scripts and notebooks: everything else in this thread waits.
 * @throws ConnectionError SYNC_SAME_PROCESS when the server runs in this process, and the errors of `connect`.
 * @example
 * using env = connectSync("http://localhost:8000", counter);
 * let result = env.reset({ seed: 7 });
 * while (!result.done) result = env.step({ amount: 1 });
 */
export function connectSync<C extends ClientContract>(
  url: string | URL,
  contract: C,
  options?: SyncConnectOptions,
): SyncEnvClient<C>;
export function connectSync(url: string | URL, options?: SyncConnectOptions): SyncEnvClient;
export function connectSync(
  url: string | URL,
  second: ClientContract | SyncConnectOptions = {},
  third: SyncConnectOptions = {},
): SyncEnvClient {
  const [contract, options] = "schemas" in second ? [second, third] : [undefined, second];
  const { base } = parseAddress(url);
  refuseSameProcess(base);
  const channel = startChannel(String(url), options, contract !== undefined);
  try {
    if (contract && options.check !== false) {
      const { name, schema } = channel.call("server") as ServerAnswer;
      if (schema) compareSchemas(contract, { url: base, name, schema });
    }
    channel.call("open");
  } catch (error) {
    channel.end();
    throw error;
  }
  // An author's schemas cannot be sent to a thread: with a contract this thread checks actions, without one the other.
  const shape = contract ? contractShape(contract) : genericShape(() => [], channel.call("tools") as string[]);
  return createClient(base, channel, shape);
}

function createClient(url: string, channel: SyncChannel, shape: Shape): SyncEnvClient {
  const typed = (answer: unknown, read: (observation: JsonObject) => JsonObject): StepResult => {
    const result = answer as StepResult;
    return { ...result, observation: read(result.observation) };
  };
  const attempt = (call: () => StepResult) => {
    try {
      return call();
    } catch (error) {
      return toFailedResult(error);
    }
  };
  const task =
    (method: string) =>
    (...args: unknown[]) =>
      channel.call("tasks", method, ...args);

  const callTool =
    (name: string) =>
    (given: JsonObject = {}, call?: SyncCallOptions) => {
      const result = channel.call("callTool", name, shape.writeCall(name, given), call) as ToolCallResult;
      return { ...result, data: shape.readCall(name, result.data) };
    };

  const client: SyncEnvClient = {
    url,
    get sessionLost() {
      return channel.call("sessionLost") as boolean;
    },
    tasks: Object.fromEntries(
      ["splits", "list", "count", "get", "range"].map((method) => [method, task(method)]),
    ) as unknown as SyncTaskClient,
    tools: Object.fromEntries(shape.tools.map((name) => [name, callTool(name)])),
    reset: (options, call) => {
      const { seed, episodeId, split, index, ...own } = options ?? {};
      const sent = { seed, episodeId, split, index, ...shape.write("reset", own) };
      return typed(channel.call("reset", sent, call), (shown) => shape.read("observation", shown));
    },
    step: (given, call) => {
      const action = shape.write("action", given);
      return typed(channel.call("step", action, call), (shown) => shape.readStep(action, shown));
    },
    tryReset: (options, call) => attempt(() => client.reset(options, call)),
    tryStep: (action, call) => attempt(() => client.step(action, call)),
    state: (call) => {
      const { episode_id, step_count, ...fields } = channel.call("state", call) as EpisodeState & JsonObject;
      return { episode_id, step_count, ...shape.read("state", fields) };
    },
    metadata: () => channel.call("metadata") as MetadataBody,
    close: () => channel.end(),
    [Symbol.dispose]: () => channel.end(),
  };
  return client;
}

/** The registry in which servers of this process list their ports while they listen. */
const LISTENING = Symbol.for("openenv.listening");

/** @throws ConnectionError SYNC_SAME_PROCESS when a server of this process listens there: the call would block it. */
function refuseSameProcess(base: string): void {
  const { hostname, port, protocol } = new URL(base);
  const ports = (globalThis as { [LISTENING]?: Set<number> })[LISTENING];
  if (!isLocal(hostname) || !ports?.has(Number(port || (protocol === "https:" ? 443 : 80)))) return;
  throw new ConnectionError(
    "SYNC_SAME_PROCESS",
    `The server at ${base} runs in this process: a blocking call would keep it from answering. ` +
      "Use connect() of openenv-ts/client, or run the server in another process.",
  );
}

function isLocal(hostname: string): boolean {
  return ["localhost", "[::1]", "[::]", "0.0.0.0"].includes(hostname) || hostname.startsWith("127.");
}
