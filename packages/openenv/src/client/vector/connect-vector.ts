import { ConfigError } from "../../errors.js";
import { allOrNone } from "../../util/async/all-or-none.js";
import type { ClientContract, GenericContract } from "../contract/contract.js";
import { mayRecover } from "../failures.js";
import { createOperations } from "../operations.js";
import type { VectorOptions, VectorStartOptions } from "../options.js";
import { VectorEngine } from "./engine.js";
import { type ServerPlace, ServerTarget } from "./server-target.js";
import { VectorEnv } from "./vector-env.js";

/** Starts servers; every provider of `@openenv-ts/providers` fits. */
export interface VectorProvider<S = never> {
  start(spec: S): Promise<ServerPlace & { close(): Promise<void> }>;
}

type Urls = string | URL | readonly (string | URL)[];

/**
 * Opens many sessions of one environment that are called together: on one server or several, or on servers that a
 * provider starts and `close()` ends. A session opens with its first reset, on the server with the fewest sessions.
 * @throws ConnectionError or RemoteError when no server can be used (CONNECTION_FAILED without an answer),
 * ContractMismatchError when a server's schema does not match the contract, ConfigError for an invalid option, and the
 * errors of the provider. Servers that were started are stopped first.
 * @example
 * await using envs = await connectVector("http://localhost:8000", counter, { size: 64, autoreset: "next-step" });
 * await envs.reset({ seed: 7 });
 * const results = await envs.step(Array(64).fill({ amount: 1 }));
 */
export function connectVector<C extends ClientContract>(
  where: Urls,
  contract: C,
  options: VectorOptions<C>,
): Promise<VectorEnv<C>>;
export function connectVector(where: Urls, options: VectorOptions): Promise<VectorEnv>;
export function connectVector<S, C extends ClientContract>(
  provider: VectorProvider<S>,
  contract: C,
  options: VectorStartOptions<S, C>,
): Promise<VectorEnv<C>>;
export function connectVector<S>(provider: VectorProvider<S>, options: VectorStartOptions<S>): Promise<VectorEnv>;
export async function connectVector(
  where: Urls | VectorProvider<unknown>,
  second: ClientContract | VectorOptions,
  third?: VectorOptions,
): Promise<unknown> {
  const [contract, options] = third ? [second as ClientContract, third] : [undefined, second as VectorOptions];
  checkOptions(options);
  const started = isProvider(where) ? await startServers(where, options as VectorStartOptions<unknown>) : [];
  const closeServers = async (): Promise<void> => {
    const ends = await Promise.allSettled(started.map((server) => server.close()));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  };
  try {
    const places = isProvider(where) ? started : Array.from(new Set([where].flat().map(String)), (url) => ({ url }));
    return await connectServers(places, contract, { ...options, closeServers });
  } catch (error) {
    await closeServers();
    throw error;
  }
}

async function connectServers(
  places: readonly ServerPlace[],
  contract: ClientContract | undefined,
  { signal, closeServers, ...options }: VectorOptions & { closeServers(): Promise<void> },
): Promise<VectorEnv> {
  if (places.length === 0) throw new ConfigError("connectVector() needs the URL of at least one server.");
  const { size, autoreset = "disabled", resetWith, concurrency = 1_024, ownSockets = false } = options;
  const targets = places.map((place) => new ServerTarget(place, contract, options));
  const prepared = await Promise.allSettled(targets.map((target) => target.prepare(signal)));
  // A server that is down receives sessions once it is up. A server that can never be used is an error.
  for (const one of prepared) if (one.status === "rejected" && !mayRecover(one.reason)) throw one.reason;
  const first = prepared.find((one) => one.status === "fulfilled");
  if (!first) throw (prepared[0] as PromiseRejectedResult).reason;
  const { shape, timeoutMs } = first.value;
  const engine = new VectorEngine(targets, size, { concurrency, ownSockets });
  const operations = createOperations<GenericContract>(shape);
  const urls = targets.map(({ url }) => url);
  return new VectorEnv({ urls, engine, operations, timeoutMs, autoreset, resetWith, ownSockets, closeServers });
}

function isProvider(where: Urls | VectorProvider<unknown>): where is VectorProvider<unknown> {
  return typeof where === "object" && "start" in where;
}

/** Starts all servers, or none. */
async function startServers(provider: VectorProvider<unknown>, { start, servers = 1 }: VectorStartOptions<unknown>) {
  if (start === undefined)
    throw new ConfigError("start is missing: pass the options of the provider, for example { image: … }.");
  checkCount("servers", servers);
  const starting = Array.from({ length: servers }, () => provider.start(start));
  return allOrNone(starting, (server) => server.close());
}

function checkOptions({ size, concurrency = 1, autoreset = "disabled" }: VectorOptions): void {
  checkCount("size", size);
  checkCount("concurrency", concurrency);
  if (["disabled", "next-step", "same-step"].includes(autoreset)) return;
  throw new ConfigError(`autoreset must be disabled, next-step or same-step, got ${JSON.stringify(autoreset)}.`);
}

function checkCount(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw new ConfigError(`${name} must be a positive integer, got ${value}.`);
}
