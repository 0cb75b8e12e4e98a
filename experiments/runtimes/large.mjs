import { unpack } from "msgpackr";
import { SIZES } from "../controls/sizes.mjs";
import { createFrameLoad } from "../harness/frame-load.mjs";
import { measureRate } from "../harness/rate.mjs";
import { NAMES } from "./names.mjs";

const CONNECTIONS = 4;
const STEP = '{"type":"step","data":{}}';
const AS_JSON = { extensions: "", frame: STEP, read: (answer) => JSON.parse(answer) };
/** The same frame as MessagePack. */
const PACKED = { extensions: "binary", frame: Buffer.from("82a474797065a473746570a46461746180", "hex"), read: unpack };
const KINDS = {
  "text-1m": { ours: AS_JSON, measure: "1 MB of text", times: 1.5 },
  "bytes-1m": { ours: PACKED, measure: "1 MB as bytes, Python as base64", times: 5 },
};

export const title = "observations of 1 MB on each runtime";

export async function run(bench) {
  const rows = [];
  for (const runtime of bench.runtimes) {
    for (const kind of Object.keys(KINDS)) rows.push(await measure(bench, runtime, kind));
  }
  return rows;
}

async function measure(bench, runtime, kind) {
  const { ours, measure, times } = KINDS[kind];
  const [rounds, seconds] = bench.quick ? [1, 1] : [3, 1.5];
  process.stderr.write(`${runtime}, ${kind}\n`);
  const samples = await bench.interleave({ ours: rounds, python: rounds }, (subject) => {
    const server = subject === "ours" ? `sized on ${runtime}` : subject;
    return bench.withServer(server, kind, ({ url, pid }) =>
      rate(bench, { subject, url, pid, kind, seconds, format: subject === "ours" ? ours : AS_JSON }),
    );
  });
  return {
    id: `large-${kind}-${runtime}`,
    measure: `${NAMES[runtime]}: ${measure}`,
    unit: "steps per server CPU-second",
    samples,
    targets: [{ limit: "at least", value: times, of: "python" }],
  };
}

async function rate(bench, { subject, url, pid, kind, seconds, format: { extensions, frame, read } }) {
  const expected = asText(SIZES[kind].make());
  const load = await createFrameLoad({
    url,
    extensions,
    connections: CONNECTIONS,
    hello: ['{"type":"reset"}'],
    frame,
    check: (answer) => (asText(read(answer).data.observation.value) === expected ? undefined : `not ${kind}`),
  });
  try {
    await load.ask(0.7);
    return await measureRate(bench, { subject, server: { pid }, work: () => load.ask(seconds) });
  } finally {
    await load.close();
  }
}

/** Bytes are base64 in JSON. */
function asText(value) {
  return typeof value === "string" ? value : Buffer.from(value).toString("base64");
}
