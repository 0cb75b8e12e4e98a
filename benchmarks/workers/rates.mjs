import { createLoad, runSessions } from "@openenv-ts/bench";
import { rateTargets } from "../harness/rate.mjs";

const STEPPING = 256;
const OPENING = 64;
/** Two processes with separate compilers take longer to warm up than one. A slow machine reaches half of their rate after 3 s. */
const WARM_UP_SECONDS = 10;

export const title = "sessions and steps";

/** The server chooses the worker, so the check accepts any process id with the expected reward. */
const workload = {
  actions: () => [{ wait_seconds: 0 }],
  check: ({ observation, reward }) =>
    observation?.pid > 0 && observation.waited_seconds === 0 && reward === 1 ? undefined : "not the answer to the step",
};

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [1, 1] : [3, 2];
  const counts = {
    ours: rounds,
    control: rounds,
    ...(!bench.quick && { python: rounds }),
    "python async": rounds,
  };
  const sessions = await bench.interleave(counts, (subject) =>
    bench.withCluster(subject, async (server) => {
      const options = { url: server.url, connections: OPENING, workload };
      await runSessions(options, WARM_UP_SECONDS);
      return bench.rate(server, () => runSessions(options, seconds));
    }),
  );
  const steps = await bench.interleave(counts, (subject) =>
    bench.withCluster(subject, async (server) => {
      const load = await createLoad({ url: server.url, connections: STEPPING, workload });
      try {
        await load.step(WARM_UP_SECONDS);
        return await bench.rate(server, () => load.step(seconds));
      } finally {
        await load.close();
      }
    }),
  );
  const unit = "per server CPU-second";
  return [
    { id: "sessions", measure: `sessions, ${OPENING} at a time`, unit, samples: sessions, targets: rateTargets(0.7) },
    { id: "steps", measure: `steps, ${STEPPING} connections`, unit, samples: steps, targets: rateTargets(0.8) },
  ];
}
