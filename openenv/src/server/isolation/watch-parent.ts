import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** What a process sees of its server's death once its loop is stuck: only another thread can look, and only ask the kernel. */
const SOURCE = `
const { workerData: { parent, memory } } = require("node:worker_threads");
let alone = 0;
setInterval(() => {
  alone = process.ppid === parent ? 0 : alone + 1;
  if (alone > 5 || (memory > 0 && process.memoryUsage.rss() > memory)) process.kill(process.pid, "SIGKILL");
}, 500);
`;

/**
 * Kills this process when its parent has been gone for a while, or when it uses more than `memoryMb` (0 for no limit),
 * also from within an endless loop. Resolves when the watch stands.
 */
export async function watchParent(parent: number, memoryMb: number): Promise<void> {
  const watch = new Worker(SOURCE, {
    eval: true,
    execArgv: [],
    workerData: { parent, memory: memoryMb * 1024 * 1024 },
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 },
  });
  watch.unref();
  await once(watch, "online");
}
