import { spawn } from "node:child_process";
import { ProviderError } from "openenv-ts";
import { registerOrphans } from "../orphans/reaper.js";
import { signalGroup } from "../process/group.js";
import { PROCESS_ORPHANS } from "../process/launch.js";
import { createRecord, removeRecord, writeRecord } from "../process/records.js";

interface ToolOptions {
  cwd: string;
  /** The source that `openenv ps` shows. */
  source: string;
  /** Added to the variables of this process; they override them. */
  env?: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  /** Advice when the tool is not installed. */
  missing: string;
}

const KEPT_BYTES = 16 * 1024;
const SHOWN_LINES = 15;

/**
 * Runs a program in its own process group and returns its output. The signal kills the whole group, and so does the
 * reaper when this process is gone.
 * @throws ProviderError PROVIDER_UNAVAILABLE when it is not installed, START_FAILED with the end of its output when it
 * fails; the signal's reason when the signal ended it.
 */
export async function runTool(command: string, args: readonly string[], options: ToolOptions): Promise<string> {
  const { cwd, source, env, signal, missing } = options;
  signal.throwIfAborted();
  const release = registerOrphans(PROCESS_ORPHANS);
  const child = spawn(command, args, {
    cwd,
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
  const { pid } = child;
  const record = pid === undefined ? undefined : createRecord(pid, { provider: command, source });
  const kill = (): void => {
    if (pid !== undefined) signalGroup(pid, "SIGKILL");
  };
  signal.addEventListener("abort", kill, { once: true });
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  try {
    if (record) writeRecord(record);
    const code = await closed;
    signal.throwIfAborted();
    if (code === 0) return output;
    const last = all.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
    throw new ProviderError("START_FAILED", `${command} ${args[0]} failed:\n${last}`, { logs: all });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new ProviderError("PROVIDER_UNAVAILABLE", `${command} is not installed. ${missing}`);
  } finally {
    signal.removeEventListener("abort", kill);
    // The process still runs when its record could not be written.
    if (child.exitCode === null && child.signalCode === null) kill();
    if (record) await removeRecord(record.id);
    release();
  }
}
