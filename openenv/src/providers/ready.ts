import { setTimeout as sleep } from "node:timers/promises";
import { parseAddress } from "../client/address.js";
import { openConnection } from "../client/connection.js";
import { ConnectionError, ProviderError } from "../errors.js";
import type { ReceivedMessage } from "../protocol/link.js";
import type { Acquired } from "./acquired.js";

/**
 * Resolves once a reset over the WebSocket was answered: `GET /health` may answer long before, or without, that. An
 * answer that refuses this reset (it wants options, a right or a free place) is one.
 * @throws ProviderError when what was started ends, when its environment cannot be made, or when the signal is aborted:
 * then with what was seen last.
 */
export async function waitReady(acquired: Acquired, signal: AbortSignal): Promise<void> {
  const end = new AbortController();
  let seen = "";
  const ended = acquired.ended?.then((reason): never => {
    throw new ProviderError("START_FAILED", `${capitalise(reason)} before it answered a reset.`);
  });
  const both = AbortSignal.any([signal, end.signal]);
  const poll = async (): Promise<void> => {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LAST_PAUSE_MS)) {
      try {
        return check(await reset(acquired, both));
      } catch (error) {
        if (error instanceof ProviderError) throw error;
        if (signal.aborted) throw await notReady(acquired, seen);
        seen = (error as Error).message;
      }
      await sleep(pause, undefined, { signal: both }).catch(() => {});
      if (end.signal.aborted) return;
    }
  };
  try {
    await Promise.race([poll(), ...(ended ? [ended] : [])]);
  } finally {
    end.abort();
  }
}

const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 250;
/** A port that something listens on may still swallow a connection: a container engine's proxy does. */
const TRY_MS = 10_000;
const HEALTH_WAIT_MS = 1_000;

async function reset({ url, headers = {} }: Acquired, signal: AbortSignal): Promise<ReceivedMessage> {
  const link = await openConnection(parseAddress(url).socket({}), {
    headers: { ...headers },
    timeoutMs: TRY_MS,
    signal,
  });
  let stop: (() => void) | undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(new ConnectionError("ABORTED", "the socket opened, and the reset was not answered"));
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([link.request({ type: "reset", data: {} }), stopped]);
  } finally {
    if (stop) signal.removeEventListener("abort", stop);
    await link.close();
  }
}

function check({ type, data }: ReceivedMessage): void {
  if (type !== "error" || data["code"] !== "FACTORY_ERROR") return;
  throw new ProviderError(
    "START_FAILED",
    `The server runs, but cannot make its environment: ${String(data["message"])}`,
  );
}

async function notReady({ url }: Acquired, seen: string): Promise<ProviderError> {
  const { http } = parseAddress(url);
  const healthy = await fetch(http("/health"), { signal: AbortSignal.timeout(HEALTH_WAIT_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );
  const health = healthy ? "GET /health is answered, but /ws is not: " : "";
  return new ProviderError("START_TIMEOUT", health + (seen || "nothing answered").replace(/\.$/, ""));
}

function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
