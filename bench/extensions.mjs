/**
 * `npm run bench:extensions`: what the extensions of `/ws` and tools give, each beside the plain protocol, on one server.
 * Options: --quick, --only batch,binary,tools, --write (EXTENSIONS.md and results/extensions.csv).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { interleave, renderCsv, renderReport } from "openenv-ts/bench";
import { Bench } from "./bench.mjs";
import * as batch from "./experiments/batch.mjs";
import * as binary from "./experiments/binary.mjs";
import * as tools from "./experiments/tools.mjs";

const EXPERIMENTS = { batch, binary, tools };

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", default: Object.keys(EXPERIMENTS).join() },
    write: { type: "boolean", default: false },
  },
});

/** Variants on the same kind of server take turns. */
class Comparison extends Bench {
  compare(variants, rounds, measure) {
    const measured = Object.entries(variants).map(([name, variant]) => [
      name,
      async () => {
        const value = await measure(variant);
        process.stderr.write(`  ${name} ${value.toPrecision(4)}\n`);
        return value;
      },
    ]);
    return interleave(rounds, Object.fromEntries(measured));
  }
}

const bench = new Comparison(options);
const rows = [];
try {
  for (const name of options.only.split(",")) {
    process.stderr.write(`${name}: ${EXPERIMENTS[name].title}\n`);
    rows.push(...(await EXPERIMENTS[name].run(bench)));
  }
} finally {
  await bench.close();
}
const text = renderReport({
  title: "What the extensions give",
  facts: {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    machine: `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}, ${process.platform} ${process.arch}, shared`,
  },
  subjects: ["extension", "plain"],
  rows,
  notes: [
    "One server of this package, the variants in turn, each round; values are medians, ratios medians of the rounds' ratios.",
    "`batch`: 64 sessions a frame over 4 sockets, beside 64 sessions on sockets of their own. `binary`: the same " +
      "observation as MessagePack and as JSON, 4 sockets. `tools`: a call of a tool that echoes, beside a step that does, " +
      "32 sockets.",
    "CPU-seconds are the server's, user and system, all threads. What a client saves is not in it.",
  ],
});
process.stdout.write(text);
if (options.write) {
  mkdirSync(new URL("results/", import.meta.url), { recursive: true });
  writeFileSync(new URL("EXTENSIONS.md", import.meta.url), text);
  writeFileSync(new URL("results/extensions.csv", import.meta.url), renderCsv(rows));
}
