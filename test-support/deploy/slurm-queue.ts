/** A second Slurm controller, with its own short queue and no working node. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isTaken } from "../../packages/providers/src/address.js";
import { findFreePort } from "../free-port.js";

export interface SlurmQueue extends AsyncDisposable {
  /** Its `slurm.conf`. */
  config: string;
}

/** Starts a controller that accepts `maxJobs` jobs, with a copy of the `slurm.conf` at `like`. */
export async function startSlurmQueue(like: string, maxJobs: number): Promise<SlurmQueue> {
  const dir = await mkdtemp(join(tmpdir(), "openenv-slurm-queue-"));
  const config = join(dir, "slurm.conf");
  const [port, nobody] = [await findFreePort(), await findFreePort()];
  const own: Record<string, string> = {
    SlurmctldPort: String(port),
    StateSaveLocation: dir,
    SlurmctldPidFile: join(dir, "slurmctld.pid"),
    SlurmctldLogFile: join(dir, "slurmctld.log"),
    // Slurm rejects the job that would reach this number.
    MaxJobCount: String(maxJobs + 1),
  };
  const kept = (await readFile(like, "utf8")).split("\n").filter((line) => !((line.split("=")[0] ?? "") in own));
  const lines = kept.map((line) => line.replace(/^(NodeName=.* Port=)\d+/, `$1${nobody}`));
  await writeFile(config, [...lines, ...Object.entries(own).map((entry) => entry.join("="))].join("\n"));
  const controller = spawn("slurmctld", ["-D", "-f", config], { stdio: "ignore" });
  const end = async (): Promise<void> => {
    await stop(controller);
    await rm(dir, { recursive: true, force: true });
  };
  const until = Date.now() + 20_000;
  while (!(await isTaken(port))) {
    if (controller.exitCode === null && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      continue;
    }
    const log = await readFile(own["SlurmctldLogFile"] as string, "utf8").catch(() => "");
    await end();
    throw new Error(`slurmctld did not start: ${log}`);
  }
  return { config, [Symbol.asyncDispose]: end };
}

async function stop(controller: ChildProcess): Promise<void> {
  if (controller.exitCode !== null || controller.signalCode !== null) return;
  const exited = once(controller, "exit");
  controller.kill("SIGKILL");
  await exited;
}
