import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "openenv-ts/client";
import { findFreePort } from "openenv-ts/internal";
import { startBalancer } from "../harness/balancer.mjs";
import { startCluster } from "../harness/clusters.mjs";

const PLAYERS = 400;
const STEPS = 20;
const PAUSE_MS = 100;
const DRAIN_SECONDS = 15;
const ACTION = { wait_seconds: 0 };

export const title = "a server is drained and replaced under load";

/** Players open a session, step it for two seconds, close it and open the next, while each server is replaced in turn. */
export async function run(bench) {
  const rows = { played: {}, lost: {} };
  for (const kind of bench.subjects) {
    const { played, lost } = await replaceAll(kind, bench.quick ? 1 : 4);
    rows.played[kind] = [played];
    rows.lost[kind] = [lost.length];
    for (const reason of new Set(lost)) process.stderr.write(`  ${kind}: ${reason}\n`);
  }
  const none = [{ limit: "at most", value: 0 }];
  return [
    {
      id: "drain-played",
      measure: "sessions while servers are replaced",
      unit: "count",
      samples: rows.played,
      targets: [],
    },
    { id: "drain-lost", measure: "of these rejected or lost", unit: "count", samples: rows.lost, targets: none },
  ];
}

async function replaceAll(kind, times) {
  // One more than run at a time, for the next replacement.
  const free = await Promise.all([findFreePort(), findFreePort(), findFreePort()]);
  const running = [await startAt(free.shift()), await startAt(free.shift())];
  const balancer = await startBalancer([...running, { port: free[0] }], { kind, capacity: PLAYERS });
  const result = { played: 0, lost: [], stopped: false };
  const players = Array.from({ length: PLAYERS }, (_, number) => play(balancer.url, number, result));
  try {
    await sleep(3_000);
    for (let time = 0; time < times; time++) {
      running.push(await startAt(free.shift()));
      await sleep(2_000);
      const old = running.shift();
      await old.close();
      free.push(old.port);
    }
    await sleep(2_000);
  } finally {
    result.stopped = true;
    await Promise.all(players);
    await Promise.all([balancer, ...running].map((one) => one.close()));
  }
  return result;
}

function startAt(port) {
  const env = { MAX_CONCURRENT_ENVS: String(PLAYERS), SHUTDOWN_DRAIN: String(DRAIN_SECONDS) };
  return startCluster("node", { args: ["--port", String(port)], env });
}

async function play(url, number, result) {
  await sleep((number * STEPS * PAUSE_MS) / PLAYERS);
  while (!result.stopped) {
    try {
      const session = await connect(url);
      try {
        await session.reset();
        for (let step = 0; step < STEPS; step++) {
          await session.step(ACTION);
          await sleep(PAUSE_MS);
        }
      } finally {
        await session.close();
      }
      result.played++;
    } catch (error) {
      result.lost.push(`${error.code ?? error.name}: ${error.message}`.slice(0, 200));
      await sleep(PAUSE_MS);
    }
  }
}
