import { parseAddress } from "./client/address.js";
import { checkContract, fetchSchema } from "./client/check.js";
import { openConnection } from "./client/connection.js";
import type { ClientContract } from "./client/contract.js";
import { createEnvClient, type EnvClient } from "./client/env-client.js";
import { compileActionCheck } from "./client/generic.js";
import { createHttpClient, type HttpClient } from "./client/http.js";
import {
  type ConnectOptions,
  DEFAULT_CONNECT_TIMEOUT_MS,
  DEFAULT_TIMEOUT_MS,
  requestHeaders,
} from "./client/options.js";
import { createSession } from "./client/session.js";
import { contractShape, genericShape, type Shape } from "./client/shape.js";
import { createTaskClient } from "./client/tasks.js";
import type { Contract } from "./env/contract.js";
import type { EnvironmentDefinition } from "./env/environment.js";
import type { MetadataBody } from "./protocol/http.js";
import { EXTENSIONS_KEY } from "./protocol/messages.js";

/**
 * Opens one session of an environment: of a server, typed by a contract or generic from its `/schema`,
 * or in this process without a server.
 * @throws ConnectionError CONNECTION_FAILED when no connection is to be had, ContractMismatchError when the server's
 * schema breaks the contract.
 * @example
 * await using env = await connect("http://localhost:8000", counter);
 * let result = await env.reset({ seed: 7 });
 * while (!result.done) result = await env.step({ amount: 1 });
 */
export function connect<C extends ClientContract>(
  url: string | URL,
  contract: C,
  options?: ConnectOptions,
): Promise<EnvClient<C>>;
export function connect<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  options?: ConnectOptions,
): Promise<EnvClient<C>>;
export function connect(url: string | URL, options?: ConnectOptions): Promise<EnvClient>;
export async function connect(
  target: string | URL | EnvironmentDefinition,
  second: ClientContract | ConnectOptions = {},
  third: ConnectOptions = {},
): Promise<EnvClient> {
  if (typeof target !== "string" && !(target instanceof URL)) {
    const { connectInProcess } = await import("./connect-in-process.js");
    return connectInProcess(target, second as ConnectOptions);
  }
  return "schemas" in second ? connectTo(target, second, third) : connectTo(target, undefined, second);
}

async function connectTo(
  url: string | URL,
  contract: ClientContract | undefined,
  options: ConnectOptions,
): Promise<EnvClient> {
  const address = parseAddress(url);
  const headers = requestHeaders(options);
  const opening = { headers, timeoutMs: options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS };
  const shape = await makeShape(contract, createHttpClient(address, { ...opening, signal: options.signal }), options);
  const socketUrl = address.socket({ [EXTENSIONS_KEY]: options.timing ? "warnings,timing" : "warnings" });
  const open = (signal: AbortSignal | undefined) => openConnection(socketUrl, { ...opening, signal });
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const http = createHttpClient(address, { headers, timeoutMs });
  return createEnvClient({
    url: address.base,
    session: await createSession(open, options.signal),
    shape,
    tasks: createTaskClient(http),
    metadata: async () => (await http.get("/metadata")) as MetadataBody,
    timeoutMs,
  });
}

async function makeShape(
  contract: ClientContract | undefined,
  http: HttpClient,
  options: ConnectOptions,
): Promise<Shape> {
  if (contract) {
    if (options.check !== false) await checkContract(contract, http);
    return contractShape(contract);
  }
  const schema = options.check === false ? undefined : await fetchSchema(http);
  return genericShape(schema ? await compileActionCheck(schema.action) : () => []);
}
