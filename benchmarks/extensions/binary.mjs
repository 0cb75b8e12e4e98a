import { SIZES } from "../controls/sizes.mjs";
import { measureSized, PACKED, TEXT } from "../harness/sized-rate.mjs";

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

const text = (bench, at) => measure(bench, { ...at, subject: "plain", format: TEXT });
const packed = (bench, at) => measure(bench, { ...at, subject: "extension", format: PACKED });

/** Both on connections that may send MessagePack. */
function measure(bench, options) {
  return measureSized(bench, { ...options, extensions: "binary" });
}
