import { measureSteps } from "../harness/rate.mjs";
import { NAMES, onRuntime } from "./names.mjs";

const CONNECTIONS = [32, 256];
/** The least fraction of the control, by runtime. */
const TARGETS = { node: 1, bun: 0.7, deno: 0.65 };
/** The multiples of Python that Bun should reach. */
const OF_PYTHON = [
  { limit: "at least", value: 16, of: "python" },
  { limit: "at least", value: 7, of: "python async" },
];

export const title = "steps on each runtime";

export async function run(bench) {
  const rows = [];
  for (const runtime of bench.runtimes) {
    for (const connections of CONNECTIONS) rows.push(await measure(bench, runtime, connections));
  }
  return rows;
}

async function measure(bench, runtime, connections) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [4, 2];
  process.stderr.write(`${runtime}, ${connections} connections\n`);
  const isBun = runtime === "bun";
  const python = isBun ? { python: rounds / 2, "python async": rounds / 2 } : {};
  const samples = await bench.interleave({ ours: rounds, control: rounds, ...python }, (subject) =>
    bench.withServer(onRuntime(subject, runtime), "echo", (server) =>
      measureSteps(bench, { subject, server, connections, warmUp: 2, seconds }),
    ),
  );
  const ofPython = isBun && connections === CONNECTIONS[0] ? OF_PYTHON : [];
  return {
    id: `steps-${runtime}-${connections}`,
    measure: `${NAMES[runtime]}: steps, ${connections} connections`,
    unit: "per server CPU-second",
    samples,
    targets: [{ limit: "at least", value: TARGETS[runtime], of: "control" }, ...ofPython],
  };
}
