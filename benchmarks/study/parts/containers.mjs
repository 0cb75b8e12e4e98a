import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { createLoad } from "@openenv-ts/bench";
import { workload } from "../../balancer/workload.mjs";
import { hasDocker, startSetup } from "../servers.mjs";
import { three, whole } from "../text.mjs";

const MOST = 400;
/** Each container has a health check, which starts a process every 5 s: more of them keep a core busy with that alone. */
const MOST_PER_CORE = 16;
/** Share of the free memory that may be filled, and a bound of what one server needs. */
const SHARE = 0.6;
const SERVER_BYTES = 120e6;
const ROUNDS = 3;
const SETTLE_MS = 2_000;
const STEP_SECONDS = 3;

export const title = "Many servers of one session, or one of many?";
export const minutes = 8;
export const picture = { title: "Memory of the machine for each session", unit: "MB" };

export async function run({ quick, image }) {
  const start = hasDocker() ? "docker" : "node";
  const built = start === "docker" ? await image() : undefined;
  const sessions = quick
    ? 3
    : Math.min(MOST, MOST_PER_CORE * availableParallelism(), Math.floor((freeBytes() * SHARE) / SERVER_BYTES));
  const kinds = { "many of one": Array(sessions).fill(1), "one of many": [sessions] };
  const samples = { memory: {}, start: {}, steps: {} };
  for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
    for (const [name, capacities] of Object.entries(kinds)) {
      const measured = await measure(capacities, (capacity) => startSetup({ start, workers: 1, capacity }, built));
      for (const key of Object.keys(samples)) (samples[key][name] ??= []).push(measured[key]);
    }
  }
  const what = start === "docker" ? "containers" : "processes";
  const row = (id, measure, unit) => ({
    ...{ id: `containers-${id}`, measure: `${whole(sessions)} sessions in ${what}: ${measure}`, unit },
    ...{ samples: samples[id], targets: [] },
  });
  return [
    row("memory", "memory of a session", "MB"),
    row("start", "until all serve", "s"),
    row("steps", "steps of all sessions in a closed loop", "per second"),
  ];
}

export function say(value, { rows }) {
  const [many, one] = ["many of one", "one of many"];
  const times = (id) => three(value(id, many) / value(id, one));
  const [, measured] = /^(.*):/.exec(rows[0].measure);
  return [
    `${measured}: one session each takes ${times("containers-memory")} times the memory, ${times("containers-start")} times ` +
      `the time to start, and has ${times("containers-steps")} times the steps per second of one server for all.`,
  ];
}

/** Memory is what the machine has less, so it includes what an engine needs for a container. */
async function measure(capacities, start) {
  const sessions = capacities.reduce((sum, capacity) => sum + capacity, 0);
  const free = freeBytes();
  const began = performance.now();
  const servers = [];
  const loads = [];
  const waiting = [...capacities];
  const startNext = async () => {
    for (let capacity = waiting.pop(); capacity !== undefined; capacity = waiting.pop())
      servers.push({ ...(await start(capacity)), capacity });
  };
  try {
    // All have ended before a failure is thrown, so that no server is left.
    const starting = Array.from({ length: availableParallelism() }, startNext);
    await Promise.allSettled(starting);
    await Promise.all(starting);
    const took = (performance.now() - began) / 1000;
    for (const { url, capacity } of servers) loads.push(await createLoad({ url, connections: capacity, workload }));
    await sleep(SETTLE_MS);
    const memory = (free - freeBytes()) / sessions / 1e6;
    const done = await Promise.all(loads.map((load) => load.step(STEP_SECONDS)));
    return { memory, start: took, steps: done.reduce((sum, one) => sum + one.done, 0) / STEP_SECONDS };
  } finally {
    await Promise.allSettled(loads.map((load) => load.close()));
    await Promise.allSettled(servers.map((server) => server.close()));
    await sleep(SETTLE_MS);
  }
}

function freeBytes() {
  return Number(/^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1]) * 1024;
}
