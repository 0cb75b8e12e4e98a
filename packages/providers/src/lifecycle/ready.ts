import { setTimeout as sleep } from "node:timers/promises";
import { ProviderError } from "openenv-ts";
import { connect, RemoteError } from "openenv-ts/client";
import { MAX_TIMER_MS } from "./check-options.js";
import type { AcquiredServer } from "./start-context.js";

/**
 * Returns the URL that answered a reset over the WebSocket; `GET /health` may succeed long before that, or without it.
 * An error response counts as an answer: the reset may need options, a token or free capacity.
 * @throws ProviderError when the server exits, when it cannot create its environment, or when the signal is aborted;
 * then with the last error.
 */
export async function waitReady(acquired: AcquiredServer, signal: AbortSignal): Promise<string> {
  const done = new AbortController();
  const both = AbortSignal.any([signal, done.signal]);
  const { url, headers = {} } = acquired;
  const tries = [url].flat().map(async (one) => {
    const seen = await poll(one, headers, both);
    if (seen === undefined) return one;
    throw signal.aborted ? await notReady(one, seen) : new Error("another URL answered first");
  });
  const end = acquired.ended?.(both).then((reason): never => {
    throw new ProviderError("START_FAILED", `${reason} before it answered a reset.`);
  });
  try {
    return await Promise.race([firstAnswer(tries), ...(end ? [end] : [])]);
  } finally {
    done.abort();
    await Promise.allSettled(tries);
    end?.catch(() => {});
  }
}

/** {@link waitReady} for each of several servers, with one shared watch for their end. */
export async function waitAllReady(
  urls: readonly string[],
  { logs, ended }: Pick<AcquiredServer, "logs"> & Required<Pick<AcquiredServer, "ended">>,
  signal: AbortSignal,
): Promise<void> {
  const done = new AbortController();
  const end = ended(AbortSignal.any([signal, done.signal]));
  try {
    await Promise.all(urls.map((url) => waitReady({ url, logs, ended: () => end }, signal)));
  } finally {
    done.abort();
    await end.catch(() => {});
  }
}

const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 250;
/** A port may accept a connection and never answer; the proxy of a container engine does that. */
const TRY_MS = 10_000;
const HEALTH_WAIT_MS = 3_000;

/** The first URL that answers; when none does, throws the most specific error. */
async function firstAnswer(tries: readonly Promise<string>[]): Promise<string> {
  try {
    return await Promise.any(tries);
  } catch (error) {
    const { errors } = error as { errors: unknown[] };
    throw errors.find((one) => one instanceof ProviderError && one.code === "START_FAILED") ?? errors[0];
  }
}

/** Resolves with undefined once there was an answer, and with the last error when the signal is aborted. */
async function poll(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string | undefined> {
  let seen = "nothing answered";
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LAST_PAUSE_MS)) {
    try {
      await reset(url, headers, signal).catch(judge);
      return undefined;
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      if (signal.aborted) return seen;
      seen = (error as Error).message;
    }
    await sleep(pause, undefined, { signal }).catch(() => {});
  }
}

async function reset(url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
  const limits = { connectTimeoutMs: TRY_MS, timeoutMs: MAX_TIMER_MS, signal };
  await using env = await connect(url, { check: false, headers: { ...headers }, ...limits });
  await env.reset({}, { signal });
}

/** @throws ProviderError for a server that cannot create its environment, and what is not an answer of a server. */
function judge(error: unknown): void {
  if (!(error instanceof RemoteError)) throw error;
  if (error.wireCode !== "FACTORY_ERROR") return;
  throw new ProviderError("START_FAILED", `The server runs, but cannot create its environment: ${error.message}`);
}

async function notReady(url: string, seen: string): Promise<ProviderError> {
  const health = (await isHealthy(url, HEALTH_WAIT_MS)) ? "GET /health answers, but /ws does not: " : "";
  return new ProviderError("START_TIMEOUT", health + seen.replace(/\.$/, ""));
}

/** True when `GET /health` succeeds within the limit, milliseconds. */
async function isHealthy(url: string, limitMs: number): Promise<boolean> {
  return fetch(`${url}/health`, { signal: AbortSignal.timeout(limitMs) }).then(
    ({ ok }) => ok,
    () => false,
  );
}
