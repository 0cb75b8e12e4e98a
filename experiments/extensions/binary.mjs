import { unpack } from "msgpackr";
import { SIZES } from "../controls/sizes.mjs";
import { createFrameLoad } from "../harness/frame-load.mjs";
import { measureRate } from "../harness/rate.mjs";

const CONNECTIONS = 4;

export const title = "MessagePack and JSON";

export async function run(bench) {
  const rows = [];
  for (const [kind, { measure }] of Object.entries(SIZES)) {
    const [rounds, seconds] = bench.quick ? [2, 1] : [5, 1.5];
    const samples = await bench.compare({ extension: packed, plain: text }, rounds, (variant) =>
      bench.withServer("sized", kind, (server) => variant(bench, { server, kind, seconds })),
    );
    rows.push({ id: `binary-${kind}`, measure, unit: "steps per server CPU-second", samples, targets: [] });
  }
  return rows;
}

function text(bench, at) {
  const frame = '{"type":"step","data":{}}';
  return rate(bench, { ...at, subject: "plain", frame, read: (answer) => JSON.parse(answer) });
}

function packed(bench, at) {
  // {"type":"step","data":{}}
  const frame = Buffer.from("82a474797065a473746570a46461746180", "hex");
  return rate(bench, { ...at, subject: "extension", frame, read: unpack });
}

async function rate(bench, { server, kind, seconds, subject, frame, read }) {
  const expected = plain(SIZES[kind].make());
  const load = await createFrameLoad({
    url: server.url,
    extensions: "binary",
    connections: CONNECTIONS,
    hello: ['{"type":"reset"}'],
    frame,
    check(answer) {
      const { value } = read(answer).data.observation;
      return plain(value) === expected ? undefined : `another observation than ${kind}`;
    },
  });
  try {
    await load.ask(0.7);
    return await measureRate(bench, { subject, server, work: () => load.ask(seconds) });
  } finally {
    await load.close();
  }
}

/** Bytes are base64 in JSON. */
function plain(value) {
  return JSON.stringify(value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value);
}
