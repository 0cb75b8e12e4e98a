import { setTimeout as sleep } from "node:timers/promises";
import { createLoad, runSessions } from "@openenv-ts/bench";
import { readServerUse } from "@openenv-ts/bench/internal";

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

/** The growth from few to many sessions, after a garbage collection at both, so that warm-up does not count. */
async function measure(server) {
  const loads = [];
  const hold = async (connections) => {
    loads.push(await createLoad({ url: server.url, connections, workload }));
    await sleep(SETTLE_MS);
    for (const pid of server.processes()) process.kill(pid, "SIGUSR2");
    await sleep(SETTLE_MS);
    return readServerUse(server.port).bytes;
  };
  // Leftovers of the compilers of two processes must not count as sessions.
  await runSessions({ url: server.url, connections: 64, workload }, WARM_UP_SECONDS);
  try {
    const before = await hold(FEW);
    return ((await hold(MANY - FEW)) - before) / (MANY - FEW) / 1000;
  } finally {
    await Promise.all(loads.map((load) => load.close()));
  }
}
