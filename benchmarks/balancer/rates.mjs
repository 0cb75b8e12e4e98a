import { createLoad, measureCpu, runSessions } from "@openenv-ts/bench";
import { workload } from "./workload.mjs";

const STEPPING = 256;
const OPENING = 64;
const WARM_UP_SECONDS = 1;

export const title = "rate of sessions and steps";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [1, 1] : [5, 3];
  const sessions = await bench.interleave(rounds, (kind) =>
    bench.withBalancer(kind, async ({ url, pid }) => {
      const options = { url, connections: OPENING, workload };
      await runSessions(options, WARM_UP_SECONDS);
      return rate(pid, () => runSessions(options, seconds));
    }),
  );
  const steps = await bench.interleave(rounds, (kind) =>
    bench.withBalancer(kind, async ({ url, pid }) => {
      const load = await createLoad({ url, connections: STEPPING, workload });
      try {
        await load.step(WARM_UP_SECONDS);
        return await rate(pid, () => load.step(seconds));
      } finally {
        await load.close();
      }
    }),
  );
  const unit = "per CPU-second";
  return [
    { id: "sessions", measure: `sessions, ${OPENING} at a time`, unit, samples: sessions, targets: [] },
    { id: "steps", measure: `steps, ${STEPPING} sessions`, unit, samples: steps, targets: [] },
  ];
}

async function rate(pid, work) {
  const { result, cpuSeconds } = await measureCpu(pid, work);
  return result.done / cpuSeconds;
}
