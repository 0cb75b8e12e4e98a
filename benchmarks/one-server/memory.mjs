import { createLoad } from "@openenv-ts/bench";
import { echoWorkload } from "../harness/rate.mjs";
import { startServer } from "../harness/servers.mjs";
import { measureGrowth } from "../harness/session-memory.mjs";

const SETTLE_MS = 700;

export const title = "memory of idle sessions";

export async function run(bench) {
  const samples = await bench.interleave(
    bench.quick ? { ours: 1, control: 1 } : { ours: 3, control: 3, python: 1 },
    (subject) => measure(subject, countsOf(subject)),
  );
  const targets = [{ limit: "at most", value: 8 }];
  return [{ id: "memory-session", measure: "memory of an idle session", unit: "kB", samples, targets }];
}

/** Python uses a thread per session, so it gets fewer sessions. */
function countsOf(subject) {
  return subject === "python" ? [250, 1_000] : [2_000, 10_000];
}

async function measure(subject, counts) {
  const server = await startServer(subject, "echo", ["--expose-gc"]);
  try {
    return await measureGrowth(counts, {
      open: (connections) => createLoad({ url: server.url, connections, workload: echoWorkload }),
      pids: () => [server.pid],
      settleMs: SETTLE_MS,
    });
  } finally {
    await server.close();
  }
}
