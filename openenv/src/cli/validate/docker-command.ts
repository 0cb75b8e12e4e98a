import { execFile } from "node:child_process";
import { ProviderError } from "../../errors.js";

/** How much a command may print. Bytes. */
const MAX_OUTPUT = 1024 * 1024;
const SHOWN_LINES = 20;

export interface DockerOptions {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  cwd?: string;
  /** Returns what came on the error stream, too: behind the rest. */
  withErrors?: boolean;
}

/**
 * Runs the docker command and returns what it printed.
 * @throws ProviderError with its last lines when it fails, or is not there.
 */
export function docker(
  args: readonly string[],
  { timeoutMs, signal, cwd, withErrors }: DockerOptions,
): Promise<string> {
  const limits = { timeout: timeoutMs, maxBuffer: MAX_OUTPUT, ...(signal && { signal }), ...(cwd && { cwd }) };
  return new Promise((resolve, reject) => {
    execFile("docker", [...args], limits, (error, stdout, stderr) => {
      if (!error) return resolve((withErrors ? stdout + stderr : stdout).trim());
      const lines = `${stdout}\n${stderr}`.trim().split("\n").slice(-SHOWN_LINES).join("\n");
      const reason = error.killed ? `took longer than ${timeoutMs} ms` : lines || error.message;
      reject(new ProviderError("START_FAILED", `docker ${args[0]}: ${reason}`, { cause: error }));
    });
  });
}

/** Whether an engine answers here. */
export async function hasEngine(signal: AbortSignal): Promise<boolean> {
  const asked = docker(["version", "--format", "{{.Server.Version}}"], { timeoutMs: 5_000, signal });
  return asked.then(
    () => true,
    () => false,
  );
}
