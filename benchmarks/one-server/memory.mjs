import { createLoad } from "@openenv-ts/bench";
import { echoWorkload } from "../harness/rate.mjs";
import { startServer } from "../harness/servers.mjs";
import { measureGrowth } from "../harness/session-memory.mjs";

const SETTLE_MS = 700;
/** The same for all subjects. */
const COUNTS = [2_000, 10_000];

export const title = "memory of idle sessions";

export async function run(bench) {
  const samples = await bench.interleave(
    bench.quick ? { ours: 1, control: 1, "python async": 1 } : { ours: 3, control: 3, "python async": 1 },
    (subject) => measure(subject),
  );
  const targets = [{ limit: "at most", value: 8 }];
  return [{ id: "memory-session", measure: "memory of an idle session", unit: "kB", samples, targets }];
}

async function measure(subject) {
  const server = await startServer(subject, "echo", ["--expose-gc"]);
  try {
    return await measureGrowth(COUNTS, {
      open: (connections) => createLoad({ url: server.url, connections, workload: echoWorkload }),
      pids: () => [server.pid],
      settleMs: SETTLE_MS,
    });
  } finally {
    await server.close();
  }
}
