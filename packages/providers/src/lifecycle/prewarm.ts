import { ConfigError, ProviderError } from "openenv-ts";
import { DEFAULT_START_TIMEOUT_MS, type Provider, type StartedServer, type StartSpec } from "../provider.js";
import { checkSpec } from "./check-options.js";
import { createDeadline } from "./deadline.js";
import { waitReady } from "./ready.js";

const MAX_PREWARMED = 64;
/** Time limit for the readiness check of a spare. */
const PROBE_MS = 5_000;

interface WarmPool {
  /** Started or starting. */
  ready: Promise<StartedServer>[];
  wanted: number;
}

let pools = new Map<Provider, Map<string, WarmPool>>();
let closing = new AbortController();

/**
 * Returns a spare server, or starts one, and keeps `wanted` spares for the next calls. A spare that fails is dropped;
 * the call that would have used it starts its own server and reports the error.
 * @throws ConfigError for an invalid number, and the errors of the provider.
 */
export async function startPrewarmed(provider: Provider, spec: StartSpec, wanted: number): Promise<StartedServer> {
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > MAX_PREWARMED) {
    throw new ConfigError(`prewarm must be an integer from 0 to ${MAX_PREWARMED}, got ${wanted}.`);
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
  // No spares after `closePrewarmed`: they would never be closed.
  if (!current.aborted) refill(pool, provider, spec);
  if (!spec.signal?.aborted) return started;
  await started.close();
  throw spec.signal.reason;
}

/** Closes all spares of `prewarm`, including those that are starting. */
export async function closePrewarmed(): Promise<void> {
  const all = [...pools.values()].flatMap((own) => [...own.values()]).flatMap(({ ready }) => ready);
  pools = new Map();
  closing.abort();
  closing = new AbortController();
  await Promise.all(all.map((spare) => spare.then((started) => started.close()).catch(() => {})));
}

/** The spares with the same provider, source and variables. */
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
 * Returns a working spare, if there is one, within the deadline of the call; a new start gets the remaining time.
 * @throws ProviderError at the deadline or on abort; a spare that is still starting is then kept for the next call.
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
    const how = isAbort ? "was aborted" : `timed out after ${timeoutMs} ms`;
    const message = `The ${provider} start ${how} while waiting for a spare that is starting.`;
    throw new ProviderError(isAbort ? "ABORTED" : "START_TIMEOUT", message, { cause: error });
  } finally {
    limit.end();
  }
  return usable(spare);
}

/** Returns undefined when the spare failed to start or has ended. */
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
