import { runSessions } from "openenv-ts/bench";
import { echoWorkload, measureRate } from "../workloads.mjs";

const CONNECTIONS = 32;

export const title = "whole sessions";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [5, 3];
  const samples = await bench.interleave(rounds, (subject) =>
    bench.withServer(subject, "echo", async (server) => {
      const options = { url: server.url, connections: CONNECTIONS, workload: echoWorkload };
      await runSessions(options, 1);
      return measureRate(bench, subject, server, () => runSessions(options, seconds));
    }),
  );
  return [
    {
      id: "sessions",
      measure: "sessions: connect, reset, step, close",
      unit: "per server CPU-second",
      samples,
      targets: [
        { limit: "at least", value: 0.7, of: "control" },
        { limit: "at least", value: 6, of: "python" },
      ],
    },
  ];
}
