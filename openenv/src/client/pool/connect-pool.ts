import { ConfigError } from "../../errors.js";
import { checkCount } from "../check-count.js";
import type { ClientContract, GenericContract } from "../contract.js";
import type { Ended } from "../loss.js";
import { createCalls } from "../many/calls.js";
import type { ConnectOptions } from "../options.js";
import { type Autoreset, createPoolClient, type PoolClient, type PoolReset } from "./pool-client.js";
import { createPoolLanes } from "./pool-lanes.js";
import { createPoolServer, mayComeLater } from "./pool-server.js";

/** What a pool needs of a provider: each of `openenv-ts/providers` is one. */
export interface PoolProvider<S = never> {
  start(spec: S): Promise<PoolStarted>;
}

/** A server that was started for a pool. */
export interface PoolStarted {
  readonly url: string;
  /** Resolves with why it has ended by itself, once it has: results that were lost with it say so. */
  ended?(signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

/** Options of `connectPool`. */
export interface PoolOptions<C extends ClientContract = GenericContract> extends ConnectOptions {
  /** How many sessions. */
  size: number;
  /** What happens when an episode has ended; default `disabled`. */
  autoreset?: Autoreset | undefined;
  /** What a reset by `autoreset` is given, by the index of the session; default nothing, so no seed. */
  resetWith?: ((index: number) => PoolReset<C>) | undefined;
  /** At most so many sessions are asked or opened at the same time; default 1,024. */
  concurrency?: number | undefined;
  /** A socket for each session instead of one for many, so that no result waits for another. Default false. */
  ownSockets?: boolean | undefined;
}

/** Options of a pool whose servers a provider starts. */
export interface StartedPoolOptions<S, C extends ClientContract = GenericContract> extends PoolOptions<C> {
  /** What `provider.start` is given. */
  start: S;
  /** How many servers to start; default 1. */
  servers?: number | undefined;
}

type Address = string | URL;

/**
 * A pool of sessions over one or many servers, or over servers that a provider starts and that `close()` ends. Each
 * session is placed at the server that has the fewest of them, at another one where that is full or gone. They open with
 * their first reset.
 * @throws ConnectionError or RemoteError when no server can be used: what the first said (CONNECTION_FAILED without an
 * answer); ContractMismatchError when the schema of one breaks the contract, ConfigError for a wrong option, and what the
 * provider throws. Then nothing that it started is left.
 * @example
 * await using pool = await connectPool(["http://a:8000", "http://b:8000"], counter, { size: 64, autoreset: "next-step" });
 * await pool.reset();
 * const results = await pool.step(Array(64).fill({ amount: 1 }));
 */
export function connectPool<C extends ClientContract>(
  where: Address | readonly Address[],
  contract: C,
  options: PoolOptions<C>,
): Promise<PoolClient<C>>;
export function connectPool(where: Address | readonly Address[], options: PoolOptions): Promise<PoolClient>;
export function connectPool<S, C extends ClientContract>(
  provider: PoolProvider<S>,
  contract: C,
  options: StartedPoolOptions<S, C>,
): Promise<PoolClient<C>>;
export function connectPool<S>(provider: PoolProvider<S>, options: StartedPoolOptions<S>): Promise<PoolClient>;
export async function connectPool(
  where: Address | readonly Address[] | PoolProvider<unknown>,
  second: ClientContract | PoolOptions,
  third?: PoolOptions,
): Promise<PoolClient> {
  const [contract, options] =
    third === undefined ? [undefined, second as PoolOptions] : [second as ClientContract, third];
  checkOptions(options);
  const started = isProvider(where) ? await startServers(where, options) : [];
  const urls = isProvider(where) ? started.map(({ url }) => url) : [where].flat().map(String);
  const endings = new Map(started.map((server) => [server.url, server.ended?.bind(server)]));
  const endServers = async (): Promise<void> => {
    const ends = await Promise.allSettled(started.map((server) => server.close()));
    const failed = ends.find((end) => end.status === "rejected");
    if (failed) throw failed.reason;
  };
  try {
    if (urls.length === 0) throw new ConfigError("A pool needs the URL of at least one server.");
    return await connectServers([...new Set(urls)], contract, { ...options, endings, endServers });
  } catch (error) {
    await endServers();
    throw error;
  }
}

const DEFAULT_CONCURRENCY = 1_024;

async function connectServers(
  urls: readonly string[],
  contract: ClientContract | undefined,
  options: PoolOptions & { endings: ReadonlyMap<string, Ended | undefined>; endServers(): Promise<void> },
): Promise<PoolClient> {
  const { size, concurrency = DEFAULT_CONCURRENCY, ownSockets = false, autoreset = "disabled" } = options;
  const { resetWith, endings, endServers, signal, ...connecting } = options;
  const servers = urls.map((url) => createPoolServer(url, contract, { ...connecting, ended: endings.get(url) }));
  const prepared = await Promise.allSettled(servers.map((server) => server.prepare(signal)));
  for (const one of prepared) {
    // One that is not there may come later; one that keeps another contract never fits.
    if (one.status === "rejected" && !mayComeLater(one.reason)) throw one.reason;
  }
  const first = prepared.find((one) => one.status === "fulfilled");
  if (!first) throw (prepared[0] as PromiseRejectedResult).reason;
  const { shape, timeoutMs } = first.value;
  const lanes = createPoolLanes({ size, servers, concurrency, ownSockets });
  let closing: Promise<void> | undefined;
  return createPoolClient<GenericContract>({
    urls,
    size,
    calls: createCalls<GenericContract>({ lanes, shape, timeoutMs }),
    lanes,
    autoreset,
    resetWith,
    ownSockets,
    close: () => (closing ??= lanes.close().then(endServers)),
  });
}

function isProvider(where: Address | readonly Address[] | PoolProvider<unknown>): where is PoolProvider<unknown> {
  return typeof where === "object" && "start" in where;
}

/** All of them, or none. */
async function startServers(provider: PoolProvider<unknown>, options: object): Promise<PoolStarted[]> {
  const { start, servers = 1 } = options as Partial<StartedPoolOptions<unknown>>;
  if (start === undefined) throw new ConfigError("Say what the provider starts: { start: { image: … } }, for example.");
  checkCount("servers", servers);
  const starts = await Promise.allSettled(Array.from({ length: servers }, () => provider.start(start)));
  const failed = starts.find((one) => one.status === "rejected");
  const started = starts.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  if (!failed) return started;
  await Promise.allSettled(started.map((one) => one.close()));
  throw failed.reason;
}

function checkOptions({
  size,
  concurrency = 1,
  autoreset = "disabled",
}: Pick<PoolOptions, "size" | "concurrency" | "autoreset">): void {
  checkCount("size", size);
  checkCount("concurrency", concurrency);
  if (["disabled", "next-step", "same-step"].includes(autoreset)) return;
  throw new ConfigError(`autoreset is ${JSON.stringify(autoreset)}; give disabled, next-step or same-step.`);
}
