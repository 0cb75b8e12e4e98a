import { constants } from "node:os";
import type { StartedServer } from "@openenv-ts/providers";
import { type StartedCommand, startCommand } from "@openenv-ts/providers/internal";
import { waitHealthy } from "./health.js";
import type { FleetSettings } from "./options.js";
import type { Running } from "./run.js";

const LONGEST_PAUSE_MS = 30_000;

/** Starts a process that runs the command. `onSpawn` gets its id before it has done anything. */
export async function startProcess(
  { command = "", startTimeoutMs }: FleetSettings,
  signal: AbortSignal,
  onSpawn: (pid: number) => void,
): Promise<Running> {
  const wait = (server: { url: string | readonly string[] }, until: AbortSignal): Promise<string> =>
    waitHealthy({ ...server, url: String(server.url) }, until);
  const spec = { directory: ".", timeoutMs: startTimeoutMs, signal };
  const readiness = { waiting: "the answer to GET /health at HOST and PORT of its environment", wait };
  const started = await startCommand(command, spec, { readiness, onSpawn });
  const { url, pid, logs, close } = started;
  return { url, pid, logs, close, ended: explainEnd(started) };
}

/** Waits until a running upstream answers. @throws ProviderError when it has not answered in time. */
export async function findUrl(url: string, { startTimeoutMs }: FleetSettings, signal: AbortSignal): Promise<Running> {
  await waitHealthy({ url }, AbortSignal.any([signal, AbortSignal.timeout(startTimeoutMs)]), LONGEST_PAUSE_MS);
  return { url, logs: async () => "", close: async () => {} };
}

async function explainEnd({ exit, logs }: StartedCommand & Pick<StartedServer, "logs">): Promise<string> {
  const { code, signal } = await exit;
  if (signal !== null) return `ended with signal ${constants.signals[signal]}`;
  const line = (await logs()).trimEnd().split("\n").at(-1);
  return `ended with code ${code}${line ? `: ${line}` : ""}`;
}
