import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createLoad } from "@openenv-ts/bench";
import { startChild } from "../harness/children.mjs";
import { CLI } from "../harness/clusters.mjs";
import { echoWorkload } from "../harness/rate.mjs";

const CONNECTIONS = 4;
const WARM_UP_SECONDS = 1;
/** Time for an attack to reach its full rate. */
const SETTLE_MS = 500;
/** The longest p99 that an attack may cause on Node. */
const MAX_P99_MS = 100;
const ATTACKER = join(import.meta.dirname, "attacker.ts");
export const ATTACKS = {
  "one-byte": "one-byte frames behind a slow step, one peer",
  empty: "empty frames, one peer",
  "one-byte-20": "one-byte frames, 20 peers",
  "full-speed-30": "30 peers that pipeline steps",
  unfinished: "90 peers with 15 MB of an unfinished frame",
  pipelined: "pipelined HTTP requests behind a slow step",
  refused: "frames of 15 MB of `[]`, rejected",
  permitted: "frames of empty lists",
  numbers: "frames of numbers",
  strings: "frames of different strings",
  nan: "frames of NaN and -Infinity",
  keys: "frames of an object with different keys",
  bodies: "6 peers with HTTP bodies of objects with different keys",
  nils: "MessagePack frames of nils",
  packed: "MessagePack frames of an object with different keys",
  batch: "batch frames of a step with different strings",
  mcp: "MCP requests with different strings",
  ors: "ORS calls with different strings",
  h2c: "pipelined HTTP requests that offer h2c",
  forks: "20 copies of a snapshot of 5 MB at a time",
  silent: "ten silent sockets that hold the free slots, and one that waits",
};

/** Environments of `controls/ours.mjs`: with capacity for the bystanders and ten more, or unlimited. */
const SERVERS = { silent: "full" };

export const title = "a bystander during attacks";

export async function run(bench) {
  const rows = [];
  for (const attack of Object.keys(ATTACKS)) rows.push(...(await attackServer(bench, attack, { rounds: 5 })));
  return rows;
}

/** Rows of the report: what an attack does to the bystanders of a server, `ours` without a runtime. */
export async function attackServer(bench, attack, { rounds, runtime }) {
  const server = runtime === undefined ? "ours" : `ours on ${runtime}`;
  const milliseconds = [];
  const ratios = await bench.interleave({ ours: bench.quick ? 1 : rounds }, () =>
    bench.withServer(server, SERVERS[attack] ?? "slow", async (started) => {
      const { undisturbed, attacked } = await compare(started, attack, bench.quick ? 1 : 3);
      milliseconds.push(attacked);
      return attacked / undisturbed;
    }),
  );
  const id = ["bystander", runtime, attack].filter(Boolean).join("-");
  const measure = `a bystander's p99: ${ATTACKS[attack]}`;
  const targets = runtime === undefined ? [{ limit: "at most", value: MAX_P99_MS }] : [];
  return [
    { id, measure, unit: "× undisturbed", samples: ratios, targets: [] },
    { id: `${id}-ms`, measure, unit: "ms", samples: { ours: milliseconds }, targets },
  ];
}

/** The p99 of the bystanders before an attack and during it, ms. None of them may be lost. */
async function compare(server, attack, seconds) {
  let steps = [];
  const onStep = (milliseconds) => steps.push(milliseconds);
  const load = await createLoad({ url: server.url, connections: CONNECTIONS, workload: echoWorkload, onStep });
  const measure = async () => {
    steps = [];
    await load.step(seconds);
    return steps.sort((a, b) => a - b)[Math.floor(steps.length * 0.99)];
  };
  try {
    await load.step(WARM_UP_SECONDS);
    const undisturbed = await measure();
    const command = [process.execPath, CLI, "run", ATTACKER, server.url, attack];
    const attacker = await startChild(command, { findPort: (text) => /^ATTACKING (\d+)$/m.exec(text)?.[1] });
    try {
      await sleep(SETTLE_MS);
      return { undisturbed, attacked: await measure() };
    } finally {
      await attacker.close();
    }
  } finally {
    await load.close();
  }
}
