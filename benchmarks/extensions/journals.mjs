import { readServerUse } from "@openenv-ts/bench";
import { createFrameLoad } from "../harness/frame-load.mjs";
import { startServer } from "../harness/servers.mjs";
import { CONNECTIONS, framesOf, measureSteps } from "./resume.mjs";

const WORKERS = 4;

/** The environments of `ours.mjs` with a journal in a file, and what is measured with four workers. */
const ONE = ["process", "disk", "plain"];
const FOUR = ["process", "plain"];

export const title = "journals in a file";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [10, 2];
  const one = await bench.compare(named(ONE), rounds, (kind) =>
    bench.withServer("ours", environmentOf(kind), (server) =>
      measureSteps(bench, { subject: variantOf(kind), server, seconds }),
    ),
  );
  const four = await bench.compare(named(FOUR), rounds, (kind) => measureWorkers(kind, seconds));
  const row = (id, measure, samples, ...targets) => {
    return { id: `journal-${id}`, measure, unit: "per server CPU-second", samples, targets };
  };
  const ofPlain = (value) => ({ limit: "at least", value, of: "plain" });
  const pair = (measured, kind) => ({ extension: measured[kind], plain: measured.plain });
  return [
    row("process", `steps, ${CONNECTIONS} connections, a journal in a file`, pair(one, "process"), ofPlain(0.6)),
    row("disk", "the same, with the durability disk", pair(one, "disk")),
    row("workers", `steps, ${WORKERS} workers, a journal in a file`, pair(four, "process"), ofPlain(0.5)),
  ];
}

/** All processes share the journal, and have as many connections each as one server. */
async function measureWorkers(kind, seconds) {
  const server = await startServer("ours", environmentOf(kind), [], { WORKERS: String(WORKERS) });
  const load = await createFrameLoad({ url: server.url, ...framesOf(variantOf(kind), CONNECTIONS * WORKERS) });
  try {
    await load.ask(WORKERS);
    const before = readServerUse(server.port).cpuSeconds;
    const { done } = await load.ask(seconds);
    return done / (readServerUse(server.port).cpuSeconds - before);
  } finally {
    await load.close();
    await server.close();
  }
}

function named(kinds) {
  return Object.fromEntries(kinds.map((kind) => [kind, kind]));
}

function environmentOf(kind) {
  return kind === "plain" ? "echo" : kind;
}

function variantOf(kind) {
  return kind === "plain" ? "plain" : "extension";
}
