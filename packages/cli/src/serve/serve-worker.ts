import { loadWorker } from "openenv-ts/internal";
import type { ServeOptions } from "openenv-ts/server";
import { serveModule } from "./serve-module.js";

/** What `openenv serve` resolves before it starts its workers. */
export interface WorkerTask {
  /** Module of the environment. */
  file: string;
  options: ServeOptions;
  /** Version of the manifest. */
  version: string | undefined;
}

// This runs before the module is loaded, because loading it may never finish.
const { findCluster, reportFailure } = await loadWorker();
await findCluster();
try {
  const { file, options, version } = JSON.parse(process.argv[2] ?? "") as WorkerTask;
  await serveModule(file, options, version);
} catch (error) {
  await reportFailure(error);
  process.exit(1);
}
