export const title = "bursts of 2,048 and 16,384, each step 1 s";

const BATCHES = {
  2048: { p99: 1.6, subjects: ["ours", "control", "python async"] },
  16384: { p99: 5.5, subjects: ["ours", "control"] },
};
const ROUNDS = 3;

export async function run(bench) {
  const rows = [];
  for (const [requests, { p99, subjects }] of Object.entries(BATCHES)) {
    const seen = { success: {}, cold: {}, starts: {}, share: {} };
    const rounds = Object.fromEntries(subjects.map((subject) => [subject, bench.quick ? 1 : ROUNDS]));
    const samples = await bench.interleave(rounds, (subject) =>
      bench.withCluster(subject, async (server) => {
        const { first, warm } = await bench.bursts(server, { requests, wait: 1 });
        (seen.success[subject] ??= []).push(50 * (first.summary.success_rate + warm.summary.success_rate));
        (seen.cold[subject] ??= []).push(first.summary.total_p99_ms / 1000);
        (seen.starts[subject] ??= []).push(warm.summary.start_spread_ms / 1000);
        (seen.share[subject] ??= []).push(shareOfBusiest(warm.served));
        return warm.summary.total_p99_ms / 1000;
      }),
    );
    const size = Number(requests).toLocaleString("en");
    const row = (id, measure, unit, rowSamples, targets) =>
      rows.push({
        id: `burst-${requests}-${id}`,
        measure: `burst of ${size}, ${measure}`,
        unit,
        samples: rowSamples,
        targets,
      });
    row("success", "served", "%", seen.success, [{ limit: "at least", value: 100 }]);
    row("p99", "total p99", "s", samples, [{ limit: "at most", value: p99 }]);
    row("cold-p99", "total p99 as the first burst of the server", "s", seen.cold, []);
    row("starts", "all started in", "s", seen.starts, []);
    const even = requests === "16384" ? [{ limit: "at most", value: 1.2 }] : [];
    row("share", "the busiest worker", "× an even share", seen.share, even);
  }
  return rows;
}

function shareOfBusiest(served) {
  const total = served.reduce((sum, count) => sum + count, 0);
  return Math.max(...served) / (total / served.length);
}
