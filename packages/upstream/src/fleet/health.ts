import { setTimeout as sleep } from "node:timers/promises";
import type { AcquiredServer } from "@openenv-ts/providers";
import { ProviderError } from "openenv-ts";

const FIRST_PAUSE_MS = 50;
const TRY_MS = 10_000;

/** Requests `GET /health` once. Returns why the upstream is not healthy; undefined when it is. */
export async function findProblem(url: string, limitMs: number, signal?: AbortSignal): Promise<string | undefined> {
  const limit = AbortSignal.timeout(limitMs);
  try {
    const both = signal ? AbortSignal.any([signal, limit]) : limit;
    const response = await fetch(`${url}/health`, {
      signal: both,
      // A connection that was kept may be closed at this moment, although the upstream is well.
      headers: { connection: "close" },
      // The answer of another address would say nothing about this one.
      redirect: "manual",
    });
    await response.body?.cancel();
    return response.ok ? undefined : `GET /health answered ${response.status}`;
  } catch (error) {
    if (limit.aborted) return "GET /health was not answered";
    const { code, message } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
    return `GET /health failed: ${code ?? message}`;
  }
}

/** Waits until an upstream is healthy, with pauses that grow. @throws ProviderError when it ends, or at the signal. */
export async function waitHealthy(
  { url, ended }: Pick<AcquiredServer, "ended"> & { url: string },
  signal: AbortSignal,
  longestPauseMs = 1_000,
): Promise<string> {
  const end: { reason?: string } = {};
  void ended?.(signal).then((reason) => (end.reason = reason));
  let seen = "no answer to GET /health";
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(pause * 2, longestPauseMs)) {
    const problem = await findProblem(url, TRY_MS, signal);
    if (problem === undefined) return url;
    if (end.reason) throw new ProviderError("START_FAILED", `${end.reason} before it answered GET /health.`);
    if (!signal.aborted) seen = problem;
    await sleep(pause, undefined, { signal }).catch(() => {});
  }
  throw new ProviderError("START_TIMEOUT", seen);
}
