import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { measureCpu } from "@openenv-ts/bench";
import { WebSocket } from "ws";
import { startSubject } from "./front-server.mjs";

const CONNECTIONS = 32;
const EVERY_MS = 100;
const STEP = JSON.stringify({ type: "step", data: { message: "a step every 100 ms" } });

export const title = "steps every 100 ms";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 2] : [6, 8];
  const cpu = { front: [], plain: [] };
  const latency = await bench.interleave({ front: rounds, plain: rounds }, async (subject) => {
    const { p50, cpuMicroseconds } = await measure(subject, seconds);
    cpu[subject].push(cpuMicroseconds);
    return p50;
  });
  const added = latency.front.map((value, round) => value - latency.plain[round]);
  const what = `${CONNECTIONS} connections, a step every ${EVERY_MS} ms`;
  return [
    {
      id: "front-cpu",
      measure: `${what}: server`,
      unit: "CPU µs per step",
      samples: cpu,
      targets: [{ limit: "at most", value: 1.5, of: "plain" }],
    },
    { id: "front-p50", measure: `${what}: answer`, unit: "ms, p50", samples: latency, targets: [] },
    {
      id: "front-added",
      measure: `${what}: answer, front − plain`,
      unit: "ms, p50",
      samples: { front: added },
      targets: [{ limit: "at most", value: 0.3 }],
    },
  ];
}

async function measure(subject, seconds) {
  const server = await startSubject(subject);
  try {
    const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(server.url)));
    const work = () =>
      Promise.all(sockets.map((socket, nth) => stepUntil(socket, nth, performance.now() + seconds * 1000)));
    await Promise.all(sockets.map((socket, nth) => stepUntil(socket, nth, performance.now() + 1000)));
    const { result, cpuSeconds } = await measureCpu(server.pid, work);
    for (const socket of sockets) socket.terminate();
    const times = result.flat().toSorted((a, b) => a - b);
    return { p50: times[Math.floor(times.length / 2)], cpuMicroseconds: (cpuSeconds * 1e6) / times.length };
  } finally {
    await server.close();
  }
}

async function open(url) {
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
  await once(socket, "open");
  await ask(socket, '{"type":"reset"}');
  return socket;
}

/** Milliseconds of each step. The connections do not step at the same time. */
async function stepUntil(socket, nth, end) {
  const times = [];
  await sleep((nth * EVERY_MS) / CONNECTIONS);
  for (let at = performance.now(); at < end; at += EVERY_MS) {
    await sleep(Math.max(0, at - performance.now()));
    const since = performance.now();
    await ask(socket, STEP);
    times.push(performance.now() - since);
  }
  return times;
}

async function ask(socket, text) {
  const answer = new Promise((resolve) => socket.once("message", resolve));
  socket.send(text);
  const data = String(await answer);
  if (data.includes('"error"')) throw new Error(data);
}
