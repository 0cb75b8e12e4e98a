import { readFileSync } from "node:fs";
import { readServerUse } from "@openenv-ts/bench";
import { planWorkers } from "../harness/clusters.mjs";

const REQUESTS = 65_536;
const WAIT = 10;
const ROUNDS = 3;
const PEAK_EVERY_MS = 250;

export const title = "a burst of 65,536, each step 10 s";

export async function run(bench) {
  if (bench.quick) return [];
  const { limit, workers, args } = planWorkers(REQUESTS);
  const processes = workers;
  const seen = { served: [], cold: [], starts: [], share: [], peak: [] };
  const p99 = await bench.interleave({ ours: ROUNDS }, (subject) =>
    bench.withCluster(
      subject,
      async (server) => {
        let peak = 0;
        const watch = setInterval(() => (peak = Math.max(peak, readServerUse(server.port).bytes)), PEAK_EVERY_MS);
        try {
          const { first, warm } = await bench.bursts(server, { requests: REQUESTS, wait: WAIT, processes });
          const { summary, served } = warm;
          seen.served.push(50 * (first.summary.success_rate + summary.success_rate));
          seen.cold.push(first.summary.total_p99_ms / 1000);
          seen.starts.push(summary.start_spread_ms / 1000);
          seen.share.push((Math.max(...served) * served.length) / summary.succeeded);
          return summary.total_p99_ms / 1000;
        } finally {
          clearInterval(watch);
          seen.peak.push(peak / 1e6);
        }
      },
      { args },
    ),
  );
  bench.remarks.push(
    `The burst of ${REQUESTS.toLocaleString("en")} had ${workers} workers and ${processes} client processes, as many as the ` +
      `file descriptor limit of ${limit.toLocaleString("en")} requires, on two cores, and net.core.somaxconn at ` +
      `${readFileSync("/proc/sys/net/core/somaxconn", "utf8").trim()}: where the queue of new connections overflows, the ` +
      "system tries again after 1, 3, 7 … 63 s, and then resets.",
  );
  const row = (id, measure, unit, samples, targets = []) => ({
    id: `burst-${REQUESTS}-${id}`,
    measure: `burst of ${REQUESTS.toLocaleString("en")}, step ${WAIT} s: ${measure}`,
    unit,
    samples,
    targets,
  });
  return [
    row("success", "served", "%", { ours: seen.served }, [{ limit: "at least", value: 100 }]),
    row("p99", "total p99", "s", p99),
    row("cold-p99", "total p99 as the first burst of the server", "s", { ours: seen.cold }),
    row("starts", "all started in", "s", { ours: seen.starts }),
    row("share", "the busiest worker", "× an even share", { ours: seen.share }),
    row("memory", "memory of all processes at its peak", "MB", { ours: seen.peak }),
  ];
}
