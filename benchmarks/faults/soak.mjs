import { createLoad, runSessions } from "@openenv-ts/bench";
import { startWatchedCluster } from "./watched-cluster.mjs";

export const title = "a steady load over a long time";

const WORKERS = 2;
const CONNECTIONS = 256;
const PAUSES = [0.02, 0.04, 0.06, 0.08];
const MINUTE = 60;
/** Interval between memory samples. */
const LOOK_MS = 2_000;
/** Share of each minute in which additional sessions open and close. */
const COMING_AND_GOING = 20;
/** Share of the time that counts as warm-up. */
const WARM_UP = 1 / 3;

const workload = {
  actions: () => PAUSES.map((wait_seconds) => ({ wait_seconds })),
  check: ({ observation }, { wait_seconds }) =>
    observation?.waited_seconds === wait_seconds ? undefined : "another wait than requested",
};

export async function run({ minutes }) {
  const cluster = await startWatchedCluster(WORKERS, 1_000);
  const options = { url: cluster.url, workload };
  try {
    const load = await createLoad({ ...options, connections: CONNECTIONS });
    const memory = [];
    const steps = [];
    const sessions = [];
    for (let minute = 0; minute < minutes; minute++) {
      const seen = [];
      const looking = setInterval(() => seen.push(cluster.residentBytes() / 1e6), LOOK_MS);
      const [stepped, played] = await Promise.all([
        load.step(MINUTE),
        runSessions({ ...options, connections: 16 }, COMING_AND_GOING),
      ]).finally(() => clearInterval(looking));
      steps.push(stepped.done / stepped.seconds);
      sessions.push(played.done / played.seconds);
      // A leak raises the minimum; memory above it is garbage that was not collected yet.
      memory.push(Math.min(...seen));
      process.stderr.write(`  minute ${minute + 1}: ${memory.at(-1).toFixed(1)} MB\n`);
    }
    await load.close();
    return rowsOf({ memory, steps, sessions });
  } finally {
    await cluster.close();
  }
}

function rowsOf({ memory, steps, sessions }) {
  const row = (id, measure, unit, measured, ...targets) => ({ id, measure, unit, samples: { measured }, targets });
  const settled = memory.slice(Math.floor(memory.length * WARM_UP));
  const slope = slopeOf(settled);
  const perHour = slope === null ? null : (100 * 60 * slope) / settled[0];
  return [
    row("soak-minutes", "soak", "minutes", [memory.length]),
    row("soak-steps", `steps, ${CONNECTIONS} open sessions`, "per second", steps),
    row("soak-sessions", "sessions that come and go, a third of the time", "per second", sessions),
    row("soak-memory", "memory of all processes, minimum of each minute", "MB", memory),
    row("soak-slope", "slope of the memory after the first third", "kB a minute", [
      slope === null ? null : slope * 1000,
    ]),
    row("soak-growth", "the same, as growth", "% an hour", [perHour], { limit: "at most", value: 5 }),
  ];
}

/** Growth from one value to the next by least squares; null for fewer than three values. */
function slopeOf(values) {
  if (values.length < 3) return null;
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let rise = 0;
  let run = 0;
  for (const [index, value] of values.entries()) {
    rise += (index - middle) * (value - mean);
    run += (index - middle) ** 2;
  }
  return rise / run;
}
