import { fileURLToPath } from "node:url";
import { loadCluster } from "openenv-ts/internal";
import { loadPlugins } from "./load-plugins.js";
import type { ServedModule } from "./serve-module.js";

type Cluster = Awaited<ReturnType<typeof loadCluster>>;
/** What a supervisor knows of the environment that its workers serve. */
export type ServedEnvironment = NonNullable<Awaited<ReturnType<Cluster["superviseProgram"]>>["about"]>;

/**
 * Serves a module in worker processes, one by default, until a signal ends them. This process only supervises them and
 * never loads the module, so that it can replace a worker whatever the module does. It loads the plugins, for what they
 * share.
 */
export async function superviseModule(task: ServedModule): ReturnType<Cluster["superviseProgram"]> {
  const program = {
    exec: fileURLToPath(new URL("./serve-worker.js", import.meta.url)),
    args: [JSON.stringify(task)],
  };
  const options = { ...task.options, plugins: await loadPlugins(task.plugins) };
  return (await loadCluster()).superviseProgram(options, program);
}
