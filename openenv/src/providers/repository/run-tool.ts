import { spawn } from "node:child_process";
import { ProviderError } from "../../errors.js";

interface ToolOptions {
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** What to do when the tool is not installed. */
  missing: string;
}

const KEPT_BYTES = 16 * 1024;

/**
 * Runs a program to its end, in a process group of its own that the signal ends as a whole, and returns what it printed.
 * @throws ProviderError PROVIDER_UNAVAILABLE when it is not installed, START_FAILED with the end of its output when it
 * fails; the signal's reason when that ended it.
 */
export async function runTool(command: string, args: readonly string[], options: ToolOptions): Promise<string> {
  const { cwd, env, signal, missing } = options;
  signal.throwIfAborted();
  const child = spawn(command, args, {
    ...(cwd && { cwd }),
    env: { ...process.env, ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let all = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-KEPT_BYTES);
    all = (all + text).slice(-KEPT_BYTES);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    all = (all + text).slice(-KEPT_BYTES);
  });
  const kill = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  };
  signal.addEventListener("abort", kill, { once: true });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject).once("close", resolve);
    });
    signal.throwIfAborted();
    if (code === 0) return output;
    throw new ProviderError("START_FAILED", `${command} ${args[0]} failed:\n${lastLines(all)}`, { logs: all });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new ProviderError("PROVIDER_UNAVAILABLE", `There is no ${command} on this machine. ${missing}`);
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

const SHOWN_LINES = 15;

function lastLines(text: string): string {
  return text.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
}
