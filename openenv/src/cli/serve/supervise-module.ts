import { fileURLToPath } from "node:url";
import { type SupervisedServer, superviseWorkers } from "../../cluster/supervise.js";
import { readSettings } from "../../server/config/settings.js";
import { startInterruptibly } from "../../server/lifecycle/signals.js";
import type { ServeOptions } from "../../server/types.js";
import type { WorkerTask } from "./serve-worker.js";

/**
 * Serves a module in worker processes, one by default, until a signal ends them. This process only watches over them
 * and never loads the module: whatever that does, it can be replaced.
 */
export function superviseModule(
  file: string,
  options: ServeOptions,
  version: string | undefined,
): Promise<SupervisedServer> {
  const task: WorkerTask = { file, options, version };
  const program = {
    exec: fileURLToPath(new URL("./serve-worker.js", import.meta.url)),
    args: [JSON.stringify(task)],
  };
  const settings = readSettings({ ...options, handleSignals: true }, process.env);
  return startInterruptibly(() => superviseWorkers(settings, program));
}
