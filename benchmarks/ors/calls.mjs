import { measureLoad } from "../harness/rate.mjs";
import { createOrsLoad } from "./ors-load.mjs";

const CONNECTIONS = 32;

export const title = "calls over ORS";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [6, 4];
  const asked = { ours: rounds, openreward: rounds };
  const samples = await bench.interleave(asked, (subject) =>
    bench.withServer(subject, "tools", (server) =>
      measureLoad(bench, {
        ...{ subject, server, warmUp: 1, length: seconds },
        open: () => createOrsLoad({ url: server.url, connections: CONNECTIONS }),
        work: (load, time) => load.call(time),
      }),
    ),
  );
  const targets = [{ limit: "at least", value: 10, of: "openreward" }];
  return [{ id: "ors", measure: "`/call` of ORS", unit: "per server CPU-second", samples, targets }];
}
