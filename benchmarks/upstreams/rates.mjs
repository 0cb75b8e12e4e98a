import { measureSteps } from "../harness/rate.mjs";
import { startSubject } from "./front-server.mjs";

const CONNECTIONS = 32;

export const title = "steps at full speed";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [6, 3];
  const samples = await bench.interleave({ front: rounds, plain: rounds }, async (subject) => {
    const server = await startSubject(subject);
    try {
      return await measureSteps(bench, { subject, server, connections: CONNECTIONS, warmUp: 1, seconds });
    } finally {
      await server.close();
    }
  });
  return [{ id: "front-steps", measure: "steps at full speed", unit: "per server CPU-second", samples, targets: [] }];
}
