import { createLoad } from "@openenv-ts/bench";
import { echoWorkload, measureRate } from "../rate.mjs";

const CONNECTIONS = [32, 256];
/** The least fraction of the control, by runtime. */
const TARGETS = { node: 1, bun: 0.7, deno: 0.65 };

export const title = "steps on each runtime";

export async function run(bench) {
  const rows = [];
  for (const runtime of bench.runtimes) {
    for (const connections of CONNECTIONS) rows.push(await measure(bench, runtime, connections));
  }
  return rows;
}

async function measure(bench, runtime, connections) {
  const [rounds, seconds] = bench.quick ? [3, 1] : [10, 2];
  process.stderr.write(`${runtime}, ${connections} connections\n`);
  const samples = await bench.interleave({ ours: rounds, control: rounds }, (subject) =>
    bench.withServer(`${subject} on ${runtime}`, "echo", async (server) => {
      const load = await createLoad({ url: server.url, connections, workload: echoWorkload });
      try {
        await load.step(2);
        return await measureRate(bench, { subject, server, work: () => load.step(seconds) });
      } finally {
        await load.close();
      }
    }),
  );
  return {
    id: `steps-${runtime}-${connections}`,
    measure: `steps on ${runtime}, ${connections} connections`,
    unit: "per server CPU-second",
    samples,
    targets: [{ limit: "at least", value: TARGETS[runtime], of: "control" }],
  };
}
