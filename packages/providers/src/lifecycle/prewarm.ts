import { ConfigError, ProviderError } from "openenv-ts/internal";
import { DEFAULT_START_TIMEOUT_MS, type Provider, type StartedServer, type StartSpec } from "../provider.js";
import { checkSpec } from "./check-options.js";
import { createDeadline } from "./deadline.js";
import { waitReady } from "./ready.js";

const MAX_PREWARMED = 64;
/** What a spare that waited may take to answer. */
const PROBE_MS = 5_000;

interface WarmPool {
  /** Each is ready, or on its way. */
  ready: Promise<StartedServer>[];
  wanted: number;
}

let pools = new Map<Provider, Map<string, WarmPool>>();
let closing = new AbortController();

/**
 * Starts what is asked for, or hands out one that is kept ready, and has `wanted` more made ready for the next call. A spare
 * that fails is forgotten: the call that would have had it starts its own and says what is wrong.
 * @throws ConfigError for a wrong number, and whatever the provider throws.
 */
export async function startPrewarmed(provider: Provider, spec: StartSpec, wanted: number): Promise<StartedServer> {
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > MAX_PREWARMED) {
    throw new ConfigError(`prewarm is ${wanted}; give a whole number from 0 to ${MAX_PREWARMED}.`);
  }
  if (wanted === 0) return provider.start(spec);
  checkSpec(provider.name, spec);
  const { timeoutMs = DEFAULT_START_TIMEOUT_MS } = spec;
  const deadline = Date.now() + timeoutMs;
  const pool = findPool(provider, spec);
  pool.wanted = wanted;
  const { signal: current } = closing;
  const started =
    (await takePrewarmed(pool, provider.name, spec)) ??
    (await provider.start({ ...spec, timeoutMs: Math.max(1, deadline - Date.now()) }));
  // What `closePrewarmed` has overtaken makes no more: nobody would end them.
  if (!current.aborted) refill(pool, provider, spec);
  if (!spec.signal?.aborted) return started;
  await started.close();
  throw spec.signal.reason;
}

/** Ends every environment that `prewarm` keeps ready, also those on their way. */
export async function closePrewarmed(): Promise<void> {
  const all = [...pools.values()].flatMap((own) => [...own.values()]).flatMap(({ ready }) => ready);
  pools = new Map();
  closing.abort();
  closing = new AbortController();
  await Promise.all(all.map((spare) => spare.then((started) => started.close()).catch(() => {})));
}

/** Those with the same provider, source and variables. */
function findPool(provider: Provider, { signal: _, onProgress: __, timeoutMs: ___, ...same }: StartSpec): WarmPool {
  const own = pools.get(provider) ?? new Map<string, WarmPool>();
  pools.set(provider, own);
  const key = JSON.stringify(same, (_, value: unknown) =>
    typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  const pool = own.get(key) ?? { ready: [], wanted: 0 };
  own.set(key, pool);
  return pool;
}

/**
 * A spare that works, if there is one, within the deadline of the call: the rest of that is for a start of its own.
 * @throws ProviderError when the time is up or the signal aborted; a spare that is on its way is for the next call then.
 */
async function takePrewarmed(pool: WarmPool, provider: string, spec: StartSpec): Promise<StartedServer | undefined> {
  const spare = pool.ready.shift();
  if (!spare) return undefined;
  const { timeoutMs = DEFAULT_START_TIMEOUT_MS, signal } = spec;
  const limit = createDeadline(timeoutMs, signal);
  try {
    await limit.race(spare.catch(() => undefined));
  } catch (error) {
    pool.ready.unshift(spare);
    const isAbort = limit.reason === "abort";
    const how = isAbort ? "was aborted" : `took longer than ${timeoutMs} ms: it ended`;
    const message = `The ${provider} start ${how} while waiting for a spare that is on its way.`;
    throw new ProviderError(isAbort ? "ABORTED" : "START_TIMEOUT", message, { cause: error });
  } finally {
    limit.end();
  }
  return usable(spare);
}

/** Nothing when it did not start, or has ended since. */
async function usable(spare: Promise<StartedServer>): Promise<StartedServer | undefined> {
  const started = await spare.catch(() => undefined);
  if (!started) return undefined;
  try {
    await waitReady(started, AbortSignal.timeout(PROBE_MS));
    return started;
  } catch {
    await started.close().catch(() => {});
    return undefined;
  }
}

function refill(pool: WarmPool, provider: Provider, { signal: _, onProgress: __, ...spec }: StartSpec): void {
  while (pool.ready.length < pool.wanted) {
    const spare = provider.start({ ...(spec as StartSpec), signal: closing.signal });
    spare.catch(() => {
      pool.ready = pool.ready.filter((other) => other !== spare);
    });
    pool.ready.push(spare);
  }
}
