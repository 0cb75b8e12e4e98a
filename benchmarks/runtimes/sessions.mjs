import { runSessions } from "@openenv-ts/bench";
import { echoWorkload, measureRate } from "../harness/rate.mjs";
import { NAMES, onRuntime } from "./names.mjs";

const CONNECTIONS = 32;
const WARM_UP_SECONDS = 3;

export const title = "whole sessions on each runtime";

export async function run(bench) {
  const rows = [];
  for (const runtime of bench.runtimes) rows.push(await measure(bench, runtime));
  return rows;
}

async function measure(bench, runtime) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [3, 2];
  const failures = [];
  process.stderr.write(`${runtime}\n`);
  const samples = await bench.interleave({ ours: rounds, control: rounds }, (subject) =>
    bench
      .withServer(onRuntime(subject, runtime), "echo", async (server) => {
        const options = { url: server.url, connections: CONNECTIONS, workload: echoWorkload };
        await runSessions(options, WARM_UP_SECONDS);
        return measureRate(bench, { subject, server, work: () => runSessions(options, seconds) });
      })
      .catch((error) => {
        failures.push(`${NAMES[runtime]}, ${subject}: ${error.message}`);
        return null;
      }),
  );
  if (failures.length > 0)
    bench.remarks.push(`Rounds of sessions that failed and are not counted: ${failures.join("; ")}.`);
  return {
    id: `sessions-${runtime}`,
    measure: `${NAMES[runtime]}: sessions (connect, reset, step, close)`,
    unit: "per server CPU-second",
    samples,
    targets: [{ limit: "at least", value: 0.6, of: "control" }],
  };
}
