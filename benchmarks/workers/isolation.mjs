import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "openenv-ts/client";
import { startCluster } from "../harness/clusters.mjs";

const SESSIONS = 8;
const EVERY_MS = 20;
const LOOPS = Math.max(1, availableParallelism() - 1);

export const title = "steps next to endless loops";

export async function run(bench) {
  const rows = [];
  for (const kind of ["thread", "process"]) {
    const samples = { ours: [], looping: [] };
    for (let round = 0; round < (bench.quick ? 1 : 5); round++) {
      const server = await startCluster("node", {
        target: join(import.meta.dirname, "looping.mjs"),
        args: ["--isolation", kind],
        env: { ISOLATE_SPARES: String(SESSIONS) },
      });
      try {
        samples.ours.push(await measureP99(server, 0, bench.quick));
        samples.looping.push(await measureP99(server, LOOPS, bench.quick));
      } finally {
        await server.close();
      }
      process.stderr.write(
        `  ${kind} ${samples.ours.at(-1).toFixed(2)} ms, looping ${samples.looping.at(-1).toFixed(2)} ms\n`,
      );
    }
    const ratio = samples.looping.map((value, round) => value / samples.ours[round]);
    rows.push(
      {
        id: `isolation-${kind}-p99`,
        measure: `isolation ${kind}, p99 of a step without endless loops`,
        unit: "ms",
        samples: { ours: samples.ours },
        targets: [],
      },
      {
        id: `isolation-${kind}-looping`,
        measure: `isolation ${kind}, p99 next to ${LOOPS} endless loop${LOOPS === 1 ? "" : "s"}`,
        unit: "× without",
        samples: { ours: ratio },
        targets: [{ limit: "at most", value: 2 }],
      },
    );
  }
  return rows;
}

/** The p99 of steps at a steady rate, in milliseconds. */
async function measureP99({ url }, loops, quick) {
  const stuck = await Promise.all(Array.from({ length: loops }, () => connect(url)));
  const others = await Promise.all(Array.from({ length: SESSIONS }, () => connect(url)));
  for (const env of [...stuck, ...others]) await env.reset();
  // They never respond, and are closed below.
  for (const env of stuck) env.step({ loop: true }).catch(() => {});
  const times = [];
  const until = performance.now() + (quick ? 2_000 : 6_000);
  await Promise.all(
    others.map(async (env, nth) => {
      await sleep((nth * EVERY_MS) / SESSIONS);
      while (performance.now() < until) {
        const asked = performance.now();
        await env.step({ loop: false });
        times.push(performance.now() - asked);
        await sleep(EVERY_MS);
      }
    }),
  );
  await Promise.all([...stuck, ...others].map((env) => env.close()));
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)];
}
