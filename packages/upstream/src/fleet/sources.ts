import { constants } from "node:os";
import { type ProcessExit, type Readiness, startCommand } from "@openenv-ts/providers/internal";
import { ProviderError } from "openenv-ts";
import { createMemoryLimit } from "./cgroup.js";
import { waitHealthy } from "./health.js";
import type { FleetSettings } from "./options.js";
import type { Running } from "./run.js";

const LONGEST_PAUSE_MS = 30_000;

/** Returns what starts a process: at most `startsAtOnce` at the same time, in the order of the calls. */
export function createStarter(settings: FleetSettings): (signal: AbortSignal) => Promise<Running> {
  const { command = "", startTimeoutMs: timeoutMs, memoryLimitMb, log } = settings;
  const limit = memoryLimitMb === undefined ? undefined : createMemoryLimit(memoryLimitMb, log);
  const waiting: (() => void)[] = [];
  let free = settings.startsAtOnce;
  const startNow = async (signal: AbortSignal): Promise<Running> => {
    const hooks = { readiness: HEALTHY, onSpawn: limit?.add, onEnd: limit?.remove };
    const { url, pid, exit, logs, close } = await startCommand(command, { directory: ".", timeoutMs, signal }, hooks);
    const explain = async ({ code, signal: by }: ProcessExit): Promise<string> => {
      if (by !== null) return `ended with signal ${constants.signals[by]}${limit?.explain(pid) ?? ""}`;
      const line = (await logs()).trimEnd().split("\n").at(-1);
      return `ended with code ${code}${line ? `: ${line}` : ""}`;
    };
    return { url, pid, logs, ended: exit.then(explain), close };
  };
  return async (signal) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      signal.throwIfAborted();
      return await startNow(signal);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}

const HEALTHY: Readiness = {
  waiting: "the answer to GET /health at HOST and PORT of its environment",
  wait: (server, signal) => waitHealthy({ ...server, url: String(server.url) }, signal),
};

/** Waits until a running upstream answers. @throws ProviderError when it has not answered in time. */
export async function findUrl(url: string, { startTimeoutMs }: FleetSettings, signal: AbortSignal): Promise<Running> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(startTimeoutMs)]);
  await waitHealthy({ url }, limit, LONGEST_PAUSE_MS).catch((cause: Error) => {
    const what = `${url} did not answer within ${startTimeoutMs} ms (${cause.message})`;
    throw new ProviderError("START_TIMEOUT", `${what}. Start it, or check the URL.`, { cause });
  });
  return { url, logs: async () => "", close: async () => {} };
}
