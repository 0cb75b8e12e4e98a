import { loadWorker } from "openenv-ts/internal";
import type { ServeOptions } from "openenv-ts/server";
import { serveModule } from "./serve-module.js";

/** What `openenv serve` has found out before it starts its workers. */
export interface WorkerTask {
  /** Module of the environment. */
  file: string;
  options: ServeOptions;
  /** Of the manifest. */
  version: string | undefined;
}

// Before the module is loaded, which may never end.
const { findCluster, reportFailure } = await loadWorker();
await findCluster();
try {
  const { file, options, version } = JSON.parse(process.argv[2] ?? "") as WorkerTask;
  await serveModule(file, options, version);
} catch (error) {
  await reportFailure(error);
  process.exit(1);
}
