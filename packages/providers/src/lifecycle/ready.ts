import { setTimeout as sleep } from "node:timers/promises";
import {
  ConnectionError,
  isHealthy,
  loadConnection,
  ProviderError,
  parseAddress,
  type ReceivedMessage,
} from "openenv-ts/internal";
import type { ServerHandle } from "./start-context.js";

/**
 * Returns the URL at which a reset over the WebSocket was answered: `GET /health` may answer long before, or without,
 * that. An answer that refuses this reset (it wants options, a right or a free place) is one.
 * @throws ProviderError when what was started ends, when its environment cannot be made, or when the signal is aborted:
 * then with what was seen last.
 */
export async function waitReady(acquired: ServerHandle, signal: AbortSignal): Promise<string> {
  const done = new AbortController();
  const both = AbortSignal.any([signal, done.signal]);
  const { url, headers = {} } = acquired;
  const tries = [url].flat().map(async (one) => {
    const seen = await poll(one, headers, both);
    if (seen === undefined) return one;
    throw signal.aborted ? await notReady(one, seen) : new Error("another was first");
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

/** {@link waitReady} for each of several servers; how they end is watched once for all of them. */
export async function waitAllReady(
  urls: readonly string[],
  { logs, ended }: Pick<ServerHandle, "logs"> & Required<Pick<ServerHandle, "ended">>,
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
/** A port that something listens on may still swallow a connection: a container engine's proxy does. */
const TRY_MS = 10_000;
const HEALTH_WAIT_MS = 3_000;

/** The first that is answered; when none is, the most telling of the failures. */
async function firstAnswer(tries: readonly Promise<string>[]): Promise<string> {
  try {
    return await Promise.any(tries);
  } catch (error) {
    const { errors } = error as { errors: unknown[] };
    throw errors.find((one) => one instanceof ProviderError && one.code === "START_FAILED") ?? errors[0];
  }
}

/** Resolves with nothing once there was an answer, and with what was seen last when the signal is aborted. */
async function poll(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string | undefined> {
  let seen = "nothing answered";
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LAST_PAUSE_MS)) {
    try {
      return check(await reset(url, headers, signal));
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      if (signal.aborted) return seen;
      seen = (error as Error).message;
    }
    await sleep(pause, undefined, { signal }).catch(() => {});
  }
}

async function reset(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ReceivedMessage> {
  const options = { headers: { ...headers }, timeoutMs: TRY_MS, signal };
  const { openConnection } = await loadConnection();
  const link = await openConnection(parseAddress(url).socket({}), options);
  let stop = (): void => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(new ConnectionError("ABORTED", "the socket opened, but the reset was not answered"));
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([link.request({ type: "reset", data: {} }), stopped]);
  } finally {
    signal.removeEventListener("abort", stop);
    await link.close();
  }
}

function check({ type, data }: ReceivedMessage): undefined {
  if (type !== "error" || data["code"] !== "FACTORY_ERROR") return;
  throw new ProviderError(
    "START_FAILED",
    `The server runs, but cannot make its environment: ${String(data["message"])}`,
  );
}

async function notReady(url: string, seen: string): Promise<ProviderError> {
  const health = (await isHealthy(url, HEALTH_WAIT_MS)) ? "GET /health is answered, but /ws is not: " : "";
  return new ProviderError("START_TIMEOUT", health + seen.replace(/\.$/, ""));
}
