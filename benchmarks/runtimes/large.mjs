import { measureSized, PACKED, TEXT } from "../harness/sized-rate.mjs";
import { NAMES } from "./names.mjs";

const PLAIN = { extensions: "", format: TEXT };
const KINDS = {
  "text-1m": { ours: PLAIN, measure: "1 MB of text", times: 1.5 },
  "bytes-1m": { ours: { extensions: "binary", format: PACKED }, measure: "1 MB as bytes, Python as base64", times: 5 },
};

export const title = "observations of 1 MB on each runtime";

export async function run(bench) {
  const rows = [];
  // Their V8 collects buffers differently, and Node 26 has another serializer of JSON.
  const newer = ["node24", "node26"].filter((name) => process.env[`OPENENV_${name.toUpperCase()}`]);
  for (const runtime of [...bench.runtimes, ...newer]) {
    for (const kind of Object.keys(KINDS)) rows.push(await measure(bench, runtime, kind));
  }
  return rows;
}

async function measure(bench, runtime, kind) {
  const { ours, measure, times } = KINDS[kind];
  const [rounds, seconds] = bench.quick ? [1, 1] : [7, 1.5];
  process.stderr.write(`${runtime}, ${kind}\n`);
  const samples = await bench.interleave({ ours: rounds, python: rounds }, (subject) => {
    const [name, form] = subject === "ours" ? [`sized on ${runtime}`, ours] : [subject, PLAIN];
    return bench.withServer(name, kind, (server) => measureSized(bench, { subject, server, kind, seconds, ...form }));
  });
  return {
    id: `large-${kind}-${runtime}`,
    measure: `${NAMES[runtime]}: ${measure}`,
    unit: "steps per server CPU-second",
    samples,
    targets: [{ limit: "at least", value: times, of: "python" }],
  };
}
