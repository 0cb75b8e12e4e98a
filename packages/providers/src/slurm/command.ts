import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { ProviderError } from "openenv-ts";

interface CommandOptions {
  signal?: AbortSignal | undefined;
  /** Variables added to those of this process. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Called with the messages of a command that waits: `sbatch` retries when the queue is full. */
  onMessage?: (line: string) => void;
}

const KEPT_CHARACTERS = 64 * 1024;

/**
 * Runs a Slurm command and returns its output.
 * @throws ProviderError PROVIDER_UNAVAILABLE when it is not installed or reaches no controller, else START_FAILED with
 * its message.
 */
export async function runSlurm(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const { signal, env, onMessage } = options;
  signal?.throwIfAborted();
  const all = Object.entries({ ...process.env, ...env });
  const variables = Object.fromEntries(all.filter(([name]) => !misleads(command, name)));
  const configuration = variables["SLURM_CONF"];
  // The command itself would retry for a minute.
  if (configuration && !existsSync(configuration)) {
    const message = `SLURM_CONF is ${configuration}, which does not exist. Set it to the slurm.conf of the cluster, or unset it.`;
    throw new ProviderError("PROVIDER_UNAVAILABLE", message);
  }
  const child = spawn(command, args, { env: variables, stdio: ["ignore", "pipe", "pipe"] });
  const kill = (): void => void child.kill("SIGKILL");
  signal?.addEventListener("abort", kill, { once: true });
  let output = "";
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-KEPT_CHARACTERS);
    onMessage?.(text.trim().split("\n").at(-1) ?? "");
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject).once("close", resolve);
    });
    signal?.throwIfAborted();
    if (code === 0) return output;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const message = `${command} is not installed. Run this on a login node of the cluster.`;
    throw new ProviderError("PROVIDER_UNAVAILABLE", message, { cause: error });
  } finally {
    signal?.removeEventListener("abort", kill);
  }
  const reason = said.trim().replaceAll(/^(sbatch|scancel|squeue|scontrol)?:? ?(error|fatal): /gm, "");
  if (UNREACHABLE.test(reason)) {
    // Earlier lines are retries; the last line is the result.
    const outcome = reason.split("\n").at(-1)?.trim();
    const message = `The Slurm controller does not answer ${command}: ${outcome}. Check SLURM_CONF and \`scontrol ping\`.`;
    throw new ProviderError("PROVIDER_UNAVAILABLE", message);
  }
  throw new ProviderError("START_FAILED", `${command} failed: ${reason}`);
}

/**
 * Variables with the user's defaults: filters of `squeue` and `scancel`, and those that make `sbatch` submit an array
 * or wait for the end.
 */
function misleads(command: string, variable: string): boolean {
  if (command === "sbatch") return variable === "SBATCH_ARRAY_INX" || variable === "SBATCH_WAIT";
  return variable.startsWith(`${command.toUpperCase()}_`);
}

const UNREACHABLE =
  /contact slurm controller|slurm_load_.* error: (Unable|Zero|Connect)|slurm\.conf|config(uration)? (file|source)|DNS SRV/i;
