import { hold } from "./hold.mjs";

const FEW = 1_000;
const MANY = 4_000;

export const title = "resources of an idle session";

export async function run(bench) {
  const samples = { descriptors: {}, memory: {} };
  for (const kind of bench.subjects) {
    const { before, after } = await bench.withBalancer(kind, async (balancer) => {
      const few = await hold(balancer, FEW);
      const many = await hold(balancer, MANY - FEW);
      await Promise.all([few.close(), many.close()]);
      return { before: few.use, after: many.use };
    });
    samples.descriptors[kind] = [(after.descriptors - before.descriptors) / (MANY - FEW)];
    samples.memory[kind] = [(after.bytes - before.bytes) / (MANY - FEW) / 1000];
  }
  return [
    {
      id: "descriptors",
      measure: "file descriptors of a session",
      unit: "count",
      samples: samples.descriptors,
      targets: [],
    },
    { id: "memory", measure: "memory of an idle session", unit: "kB", samples: samples.memory, targets: [] },
  ];
}
