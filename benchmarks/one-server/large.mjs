import { makeNumbers, makeText } from "../controls/observations.mjs";
import { measureSteps } from "../harness/rate.mjs";

const CONNECTIONS = 4;
const KINDS = {
  text: { field: "text", make: makeText, measure: "1 MB observations, text" },
  numbers: { field: "values", make: makeNumbers, measure: "1 MB observations, 280,000 integers" },
};

export const title = "1 MB observations";

export async function run(bench) {
  const rows = [];
  for (const kind of Object.keys(KINDS)) rows.push(await measure(bench, kind));
  return rows;
}

async function measure(bench, kind) {
  const { field, make, measure } = KINDS[kind];
  const expected = JSON.stringify(make());
  const workload = {
    actions: () => [{}],
    check: ({ observation }) => (JSON.stringify(observation?.[field]) === expected ? undefined : "another observation"),
  };
  const [rounds, seconds] = bench.quick ? [1, 1] : [5, 1.5];
  const samples = await bench.interleave(
    { ours: rounds, control: rounds, ...(!bench.quick && { python: 2 }) },
    (subject) =>
      bench.withServer(subject, kind, (server) =>
        measureSteps(bench, { subject, server, connections: CONNECTIONS, workload, warmUp: 0.7, seconds }),
      ),
  );
  const targets = [{ limit: "at least", value: 0.8, of: "control" }];
  return { id: `large-${kind}`, measure, unit: "steps per server CPU-second", samples, targets };
}
