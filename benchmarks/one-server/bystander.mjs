import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createLoad } from "@openenv-ts/bench";
import { startChild } from "../harness/children.mjs";
import { CLI } from "../harness/clusters.mjs";
import { echoWorkload } from "../harness/rate.mjs";

const CONNECTIONS = 4;
const ROUNDS = 2;
/** Seconds of steps before the first attack of a round, and during each attack. */
const SECONDS = { undisturbed: 0.5, attacked: 0.75 };
/** Time for an attack to reach its full rate, and for a server to finish what an ended one left. */
const SETTLE_MS = 200;
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

export function run(bench) {
  return attackServers(bench, Object.keys(ATTACKS), { rounds: ROUNDS });
}

/**
 * Rows of the report: what each attack does to the bystanders of a server, `ours` without a runtime. A round starts a
 * server of each environment and has all attacks in turn, so that a busy moment of the machine is in one round only.
 */
export async function attackServers(bench, attacks, { rounds, runtime }) {
  const subject = runtime === undefined ? "ours" : `ours on ${runtime}`;
  const samples = Object.fromEntries(attacks.map((attack) => [attack, { ratios: [], milliseconds: [] }]));
  for (let round = 0; round < (bench.quick ? 1 : rounds); round++) {
    for (const [environment, those] of groupByEnvironment(attacks)) {
      await bench.withServer(subject, environment, (server) =>
        disturb(server, those, ({ attack, undisturbed, attacked }) => {
          process.stderr.write(`  ${attack} ${attacked.toFixed(1)} ms (load average ${loadavg()[0].toFixed(1)})\n`);
          samples[attack].ratios.push(attacked / undisturbed);
          samples[attack].milliseconds.push(attacked);
        }),
      );
    }
  }
  return attacks.flatMap((attack) => {
    const id = ["bystander", runtime, attack].filter(Boolean).join("-");
    const measure = `a bystander's p99: ${ATTACKS[attack]}`;
    const targets = runtime === undefined ? [{ limit: "at most", value: MAX_P99_MS }] : [];
    const { ratios, milliseconds } = samples[attack];
    return [
      { id, measure, unit: "× undisturbed", samples: { ours: ratios }, targets: [] },
      { id: `${id}-ms`, measure, unit: "ms", samples: { ours: milliseconds }, targets },
    ];
  });
}

function groupByEnvironment(attacks) {
  const groups = new Map();
  for (const attack of attacks) {
    const environment = SERVERS[attack] ?? "slow";
    groups.set(environment, [...(groups.get(environment) ?? []), attack]);
  }
  return groups;
}

/** Reports the p99 of the bystanders before the first attack and during each, in ms. None of them may be lost. */
async function disturb(server, attacks, onAttack) {
  let steps = [];
  const onStep = (milliseconds) => steps.push(milliseconds);
  const load = await createLoad({ url: server.url, connections: CONNECTIONS, workload: echoWorkload, onStep });
  const measure = async (seconds) => {
    steps = [];
    await load.step(seconds);
    return steps.sort((a, b) => a - b)[Math.floor(steps.length * 0.99)];
  };
  try {
    await load.step(SECONDS.undisturbed);
    const undisturbed = await measure(SECONDS.undisturbed);
    for (const attack of attacks) {
      const command = [process.execPath, CLI, "run", ATTACKER, server.url, attack];
      const attacker = await startChild(command, { findPort: (text) => /^ATTACKING (\d+)$/m.exec(text)?.[1] });
      try {
        await sleep(SETTLE_MS);
        onAttack({ attack, undisturbed, attacked: await measure(SECONDS.attacked) });
      } finally {
        await attacker.close();
      }
      await sleep(SETTLE_MS);
    }
  } finally {
    await load.close();
  }
}
