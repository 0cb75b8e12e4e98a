import { loadCluster } from "openenv-ts/internal";
import { type ServedModule, serveModule } from "./serve-module.js";

// This runs before the module is loaded, because loading it may never finish.
const { findCluster, reportFailure } = await loadCluster();
await findCluster();
try {
  await serveModule(JSON.parse(process.argv[2] ?? "") as ServedModule);
} catch (error) {
  await reportFailure(error);
  process.exit(1);
}
