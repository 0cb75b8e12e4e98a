import { fileURLToPath } from "node:url";
import { loadSettingsReader, loadSupervisor, type SupervisedServer, startInterruptibly } from "openenv-ts/internal";
import type { ServeOptions } from "openenv-ts/server";
import type { WorkerTask } from "./serve-worker.js";

/**
 * Serves a module in worker processes, one by default, until a signal ends them. This process only supervises them and
 * never loads the module, so that it can replace a worker whatever the module does.
 */
export async function superviseModule(
  file: string,
  options: ServeOptions,
  version: string | undefined,
): Promise<SupervisedServer> {
  const task: WorkerTask = { file, options, version };
  const program = {
    exec: fileURLToPath(new URL("./serve-worker.js", import.meta.url)),
    args: [JSON.stringify(task)],
  };
  const { readSettings } = await loadSettingsReader();
  const settings = readSettings({ ...options, handleSignals: true }, process.env);
  const { superviseWorkers } = await loadSupervisor();
  return startInterruptibly(() => superviseWorkers(settings, program));
}
