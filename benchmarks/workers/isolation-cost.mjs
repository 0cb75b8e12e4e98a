import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "openenv-ts/client";
import { startCluster } from "../harness/clusters.mjs";

const KINDS = ["thread", "process"];
const SESSIONS = 16;
const SETTLE_MS = 1_000;
/** Threads are worth supporting next to processes if a session starts this much faster. */
const WORTH = 1.5;

export const title = "start and memory of an isolated session";

export async function run(bench) {
  const samples = Object.fromEntries(KINDS.map((kind) => [kind, []]));
  for (let round = 0; round < (bench.quick ? 1 : 5); round++) {
    for (const kind of KINDS) {
      const cost = await measure(kind);
      samples[kind].push(cost);
      process.stderr.write(`  ${kind} ${cost.start.toFixed(1)} ms, ${cost.memory.toFixed(1)} MB\n`);
    }
  }
  const rowsOf = (key, measureOf, unit, targets) => {
    const values = (kind) => samples[kind].map((cost) => cost[key]);
    const ratios = values("process").map((value, round) => value / values("thread")[round]);
    return [
      ...KINDS.map((kind) => ({
        id: `isolation-${kind}-${key}`,
        measure: `isolation ${kind}, ${measureOf}`,
        unit,
        samples: { ours: values(kind) },
        targets: [],
      })),
      {
        id: `isolation-${key}-ratio`,
        measure: `isolation process, ${measureOf}`,
        unit: "× thread",
        samples: { ours: ratios },
        targets,
      },
    ];
  };
  return [
    ...rowsOf("start", "start of a session", "ms", [{ limit: "at least", value: WORTH }]),
    ...rowsOf("memory", "memory of a session", "MB", []),
  ];
}

/** The time from connecting to the response to the first reset, without a spare isolate, and the memory. */
async function measure(kind) {
  const server = await startCluster("node", {
    target: join(import.meta.dirname, "looping.mjs"),
    args: ["--isolation", kind],
    env: { ISOLATE_SPARES: "0" },
  });
  const sessions = [];
  const times = [];
  const open = async () => {
    const began = performance.now();
    const session = await connect(server.url);
    sessions.push(session);
    await session.reset();
    return performance.now() - began;
  };
  try {
    // The first session loads code that all need.
    await open();
    const before = await settledMemory(server);
    for (let nth = 0; nth < SESSIONS; nth++) times.push(await open());
    const memory = ((await settledMemory(server)) - before) / SESSIONS;
    return { start: times.toSorted((a, b) => a - b)[SESSIONS / 2], memory };
  } finally {
    await Promise.all(sessions.map((session) => session.close()));
    await server.close();
  }
}

/** Memory of all processes of a server in MB (proportional set size). */
async function settledMemory(server) {
  await sleep(SETTLE_MS);
  const kilobytes = server
    .processes()
    .map((pid) => Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))[1]));
  return (kilobytes.reduce((sum, value) => sum + value, 0) * 1024) / 1e6;
}
