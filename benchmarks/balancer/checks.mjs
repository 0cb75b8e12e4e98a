import { setTimeout as sleep } from "node:timers/promises";
import { measureCpu, residentBytes } from "@openenv-ts/bench";

const SERVERS = 1_000;

export const title = "a thousand servers";

/** Envoy treats a thousand servers at one address as one. */
export async function run(bench) {
  const seconds = bench.quick ? 2 : 10;
  const memory = [];
  const samples = await bench.interleave(
    1,
    (kind) =>
      bench.withBalancer(
        kind,
        async ({ pid }) => {
          await sleep(2_000);
          const { cpuSeconds, seconds: took } = await measureCpu(pid, () => sleep(seconds * 1000));
          memory.push(residentBytes(pid) / 1e6);
          return (100 * cpuSeconds) / took;
        },
        { addresses: SERVERS },
      ),
    ["haproxy"],
  );
  return [
    { id: "checks", measure: `checks of ${SERVERS} servers, each second`, unit: "% of a core", samples, targets: [] },
    {
      id: "thousand",
      measure: `memory with ${SERVERS} servers`,
      unit: "MB",
      samples: { haproxy: memory },
      targets: [],
    },
  ];
}
