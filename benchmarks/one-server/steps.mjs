import { measureSteps, rateTargets } from "../harness/rate.mjs";

const CONNECTIONS = 32;

export const title = "steps";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [10, 2];
  const samples = await bench.interleave(
    { ours: rounds, control: rounds, ...(!bench.quick && { python: rounds / 2 }), "python async": rounds / 2 },
    (subject) =>
      bench.withServer(subject, "echo", (server) =>
        measureSteps(bench, { subject, server, connections: CONNECTIONS, warmUp: 1, seconds }),
      ),
  );
  const measure = `steps, ${CONNECTIONS} connections`;
  return [{ id: "steps", measure, unit: "per server CPU-second", samples, targets: rateTargets(0.8) }];
}
