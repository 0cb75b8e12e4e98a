import { setTimeout as sleep } from "node:timers/promises";
import { residentBytes } from "@openenv-ts/bench";
import { startServer } from "../harness/servers.mjs";
import { NAMES, onRuntime } from "./names.mjs";

/** Time for a server to finish its work after the first response. */
const SETTLE_MS = 500;

export const title = "memory after the start on each runtime";

export async function run(bench) {
  const rounds = bench.quick ? 1 : 3;
  const rows = new Map(bench.runtimes.map((runtime) => [runtime, { ours: [], control: [] }]));
  for (let round = 0; round < rounds; round++) {
    for (const [runtime, samples] of rows) {
      for (const subject of Object.keys(samples)) samples[subject].push(await measure(onRuntime(subject, runtime)));
    }
  }
  const measured = [...rows].map(([runtime, samples]) => ({
    id: `memory-start-${runtime}`,
    measure: `${NAMES[runtime]}: memory of a started server`,
    unit: "MB",
    samples,
    targets: [],
  }));
  if (!rows.has("bun")) return measured;
  const [bun, node] = ["bun", "node"].map((runtime) => rows.get(runtime).ours);
  const ofNode = {
    id: "memory-start-bun-of-node",
    measure: "Bun: memory of a started server",
    unit: "× ours on Node",
    samples: { ours: bun.map((bytes, round) => bytes / node[round]) },
    targets: [{ limit: "at most", value: 1 }],
  };
  return [...measured, ofNode];
}

async function measure(subject) {
  const server = await startServer(subject, "echo");
  try {
    const { status } = await fetch(`${server.url}/health`);
    if (status !== 200) throw new Error(`/health answered ${status}`);
    await sleep(SETTLE_MS);
    return residentBytes(server.pid) / 1e6;
  } finally {
    await server.close();
  }
}
