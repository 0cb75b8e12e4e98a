import { hold } from "./hold.mjs";

const SMALL = 1_000;
const LARGE = 8_000;
const STEP_SECONDS = 5;

export const title = "prediction and measurement";

/** The resource use of a balancer with many sessions, relative to the prediction from few sessions. */
export async function run(bench) {
  const ratios = { descriptors: {}, bytes: {}, cpuSeconds: {} };
  const stepSeconds = {};
  for (const kind of bench.subjects) {
    const base = await use(bench, { kind, sessions: 0, servers: 1 });
    const small = await use(bench, { kind, sessions: SMALL, servers: 1 });
    const large = await use(bench, { kind, sessions: LARGE, servers: 2 });
    for (const key of Object.keys(ratios)) {
      const predicted = base[key] + ((small[key] - base[key]) * LARGE) / SMALL;
      ratios[key][kind] = [large[key] / predicted];
    }
    stepSeconds[kind] = [large.stepSeconds / small.stepSeconds];
  }
  const row = (id, measure, samples) => ({ id, measure, unit: "measured : predicted", samples, targets: [] });
  return [
    row("model-descriptors", `file descriptors with ${LARGE} sessions`, ratios.descriptors),
    row("model-memory", `memory with ${LARGE} sessions`, ratios.bytes),
    row("model-cpu", `CPU time to open ${LARGE} sessions`, ratios.cpuSeconds),
    row("model-step", `CPU time of a step with ${LARGE} sessions`, stepSeconds),
  ];
}

function use(bench, { kind, sessions, servers }) {
  return bench.withBalancer(
    kind,
    async (balancer) => {
      const held = await hold(balancer, sessions);
      const stepSeconds = sessions > 0 ? await held.step(STEP_SECONDS) : 0;
      await held.close();
      return { ...held.use, stepSeconds };
    },
    { servers },
  );
}
