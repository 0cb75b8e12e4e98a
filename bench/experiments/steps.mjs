import { createLoad } from "openenv-ts/bench";
import { echoWorkload, measureRate } from "../workloads.mjs";

const CONNECTIONS = 32;

export const title = "steps, sessions open";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [5, 3];
  const samples = await bench.interleave(rounds, (subject) =>
    bench.withServer(subject, "echo", async (server) => {
      const load = await createLoad({ url: server.url, connections: CONNECTIONS, workload: echoWorkload });
      try {
        await load.step(1);
        return await measureRate(bench, subject, server, () => load.step(seconds));
      } finally {
        await load.close();
      }
    }),
  );
  return [
    {
      id: "steps",
      measure: `steps, ${CONNECTIONS} connections`,
      unit: "per server CPU-second",
      samples,
      targets: [
        { limit: "at least", value: 0.8, of: "control" },
        { limit: "at least", value: 6, of: "python" },
      ],
    },
  ];
}
