import { runSessions } from "@openenv-ts/bench";
import { echoWorkload, measureRate, rateTargets } from "../harness/rate.mjs";

const CONNECTIONS = 32;
/** A session runs more code than a step, each part rarely, so compilation takes longer. */
const WARM_UP_SECONDS = 3;

export const title = "whole sessions";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [10, 2];
  const samples = await bench.interleave(
    { ours: rounds, control: rounds, ...(!bench.quick && { python: rounds / 2 }), "python async": rounds / 2 },
    (subject) =>
      bench.withServer(subject, "echo", async (server) => {
        const options = { url: server.url, connections: CONNECTIONS, workload: echoWorkload };
        await runSessions(options, WARM_UP_SECONDS);
        return measureRate(bench, { subject, server, work: () => runSessions(options, seconds) });
      }),
  );
  const measure = "sessions: connect, reset, step, close";
  return [{ id: "sessions", measure, unit: "per server CPU-second", samples, targets: rateTargets(0.7) }];
}
