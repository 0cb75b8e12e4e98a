import { createLoad, runSessions } from "@openenv-ts/bench";
import { measureGrowth } from "../harness/session-memory.mjs";

const FEW = 2_000;
const MANY = 10_000;
const SETTLE_MS = 1_000;
const WARM_UP_SECONDS = 5;
const workload = { actions: () => [{}], check: () => undefined };
/** Makes a signal trigger garbage collection in every process of the server. */
const COLLECT = {
  NODE_OPTIONS: `--expose-gc --import ${new URL("../controls/collect-on-signal.mjs", import.meta.url)}`,
};

export const title = "memory of idle sessions";

export async function run(bench) {
  const samples = await bench.interleave(bench.quick ? { ours: 1 } : { ours: 3, control: 3 }, (subject) =>
    bench.withCluster(subject, measure, { env: COLLECT }),
  );
  const measure10k = `memory of an idle session, ${MANY.toLocaleString("en")} sessions`;
  return [{ id: "memory", measure: measure10k, unit: "kB", samples, targets: [{ limit: "at most", value: 8 }] }];
}

async function measure(server) {
  // Leftovers of the compilers of two processes must not count as sessions.
  await runSessions({ url: server.url, connections: 64, workload }, WARM_UP_SECONDS);
  return measureGrowth([FEW, MANY], {
    open: (connections) => createLoad({ url: server.url, connections, workload }),
    pids: server.processes,
    settleMs: SETTLE_MS,
  });
}
