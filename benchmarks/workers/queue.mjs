const CAPACITY = 512;
const WAIT = 1;

export const title = "a burst of twice the capacity, with the queue on";

export async function run(bench) {
  const served = [];
  const cold = [];
  const args = ["--queue-size", String(CAPACITY), "--max-concurrent-envs", String(CAPACITY)];
  // Two workers of this capacity each.
  const requests = 2 * 2 * CAPACITY;
  const p99 = await bench.interleave({ ours: bench.quick ? 1 : 3 }, (subject) =>
    bench.withCluster(
      subject,
      async (server) => {
        const { first, warm } = await bench.bursts(server, { requests, wait: WAIT });
        served.push(50 * (first.summary.success_rate + warm.summary.success_rate));
        cold.push(first.summary.total_p99_ms / 1000);
        return warm.summary.total_p99_ms / 1000;
      },
      { args },
    ),
  );
  const measure = `burst of ${requests.toLocaleString("en")} at a capacity of ${(2 * CAPACITY).toLocaleString("en")}, step ${WAIT} s`;
  return [
    {
      id: "queue-served",
      measure: `${measure}: served`,
      unit: "%",
      samples: { ours: served },
      targets: [{ limit: "at least", value: 100 }],
    },
    { id: "queue-p99", measure: `${measure}: total p99`, unit: "s", samples: p99, targets: [] },
    {
      id: "queue-cold-p99",
      measure: `${measure}: total p99 as the first burst of the server`,
      unit: "s",
      samples: { ours: cold },
      targets: [],
    },
  ];
}
