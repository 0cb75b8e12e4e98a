import { setTimeout as sleep } from "node:timers/promises";
import { createLoad, residentBytes } from "@openenv-ts/bench";
import { echoWorkload } from "../harness/rate.mjs";
import { startServer } from "../harness/servers.mjs";

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

/** The growth from few to many sessions, after a garbage collection at both, so that warm-up does not count. */
async function measure(subject, [few, many]) {
  const server = await startServer(subject, "echo", ["--expose-gc"]);
  const loads = [];
  const hold = async (connections) => {
    loads.push(await createLoad({ url: server.url, connections, workload: echoWorkload }));
    await sleep(SETTLE_MS);
    process.kill(server.pid, "SIGUSR2");
    await sleep(SETTLE_MS);
    return residentBytes(server.pid);
  };
  try {
    const before = await hold(few);
    const after = await hold(many - few);
    return (after - before) / (many - few) / 1000;
  } finally {
    await server.close();
    await Promise.all(loads.map((load) => load.close()));
  }
}
