import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { ProviderError } from "openenv-ts/internal";

interface CommandOptions {
  signal?: AbortSignal | undefined;
  /** Variables beside those of this process. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Told what the command says while it waits: `sbatch` tries again when the queue is full. */
  onMessage?: (line: string) => void;
}

const KEPT_CHARACTERS = 64 * 1024;

/**
 * Runs a command of Slurm to its end and returns what it printed.
 * @throws ProviderError PROVIDER_UNAVAILABLE when it is not there or reaches no controller, else START_FAILED with what
 * it said.
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
  // The command itself would look for it for a minute.
  if (configuration && !existsSync(configuration)) {
    const message = `SLURM_CONF names ${configuration}, which is not there: name the slurm.conf of the cluster, or unset it.`;
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
    const message = `There is no ${command} on this machine: run this on a login node of the cluster.`;
    throw new ProviderError("PROVIDER_UNAVAILABLE", message, { cause: error });
  } finally {
    signal?.removeEventListener("abort", kill);
  }
  const reason = said.trim().replaceAll(/^(sbatch|scancel|squeue|scontrol)?:? ?(error|fatal): /gm, "");
  if (UNREACHABLE.test(reason)) {
    // What it tried before is noise; the last line is what came of it.
    const outcome = reason.split("\n").at(-1)?.trim();
    const message = `The controller of Slurm does not answer ${command}: ${outcome}. Check SLURM_CONF and \`scontrol ping\`.`;
    throw new ProviderError("PROVIDER_UNAVAILABLE", message);
  }
  throw new ProviderError("START_FAILED", `${command} refused: ${reason}`);
}

/** Habits of the user: what `squeue` shows and `scancel` spares, and what makes an array of a job or waits for its end. */
function misleads(command: string, variable: string): boolean {
  if (command === "sbatch") return variable === "SBATCH_ARRAY_INX" || variable === "SBATCH_WAIT";
  return variable.startsWith(`${command.toUpperCase()}_`);
}

const UNREACHABLE =
  /contact slurm controller|slurm_load_.* error: (Unable|Zero|Connect)|slurm\.conf|config(uration)? (file|source)|DNS SRV/i;
