import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { readServerUse } from "@openenv-ts/bench";
import { WebSocket } from "ws";
import { startCluster } from "../../harness/clusters.mjs";
import { three, whole } from "../text.mjs";
import { endWithClose } from "./sockets.mjs";

const WORKERS = 8;
const SESSIONS = 2_048;
const OPENING = 64;
const ROUNDS = 3;
const ENVIRONMENT = fileURLToPath(new URL("../../../envs/wordle", import.meta.url));
const GUESSES = ["crane", "moist", "bulky", "fudge", "whelp", "vixen"];

export const title = "How fast is a text game?";
export const minutes = 2;
export const picture = { title: "Wordle: an episode of each session at the same time", unit: "s" };

export function describeRun({ quick }) {
  return { seed: `a different one for each episode, from 1 to ${whole(2 * (quick ? OPENING : SESSIONS))}` };
}

/** Each round has a new server: all sessions open, then each plays two episodes of at most six guesses. */
export async function run({ quick }) {
  const sessions = quick ? OPENING : SESSIONS;
  const samples = {};
  for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
    for (const [id, value] of Object.entries(await play(sessions))) (samples[id] ??= []).push(value);
  }
  const row = (id, measure, unit) => ({
    ...{ id: `wordle-${id}`, measure, unit, samples: { ours: samples[id] } },
    targets: id === "finished" ? [{ limit: "at least", value: sessions }] : [],
  });
  return [
    row(
      "finished",
      `of ${whole(sessions)} sessions on ${WORKERS} workers, those that finished their episodes`,
      "sessions",
    ),
    row("open", "until all sessions are open", "s"),
    row("first-seconds", "first episode: until all are finished", "s"),
    row("first-p99", "first episode: a step, p99", "ms"),
    row("seconds", "second episode: until all are finished", "s"),
    row("steps", "second episode: steps of all", "steps"),
    row("p99", "second episode: a step, p99", "ms"),
    row("server", "second episode: processor time of the server for a step", "µs"),
    row("load", "second episode: processor time of the load for a step", "µs"),
  ];
}

export function say(value) {
  return [
    `${whole(value("wordle-finished"))} sessions on ${WORKERS} workers finish an episode each in ` +
      `${three(value("wordle-first-seconds"))} s on new servers and in ${three(value("wordle-seconds"))} s after that: ` +
      `${whole(value("wordle-steps"))} steps, p99 ${three(value("wordle-p99"))} ms, ` +
      `${three(value("wordle-server"))} µs of the server's processor time for each.`,
  ];
}

async function play(sessions) {
  const env = { MAX_CONCURRENT_ENVS: String(sessions) };
  const server = await startCluster("node", { target: ENVIRONMENT, args: ["--workers", String(WORKERS)], env });
  const sockets = [];
  try {
    const began = performance.now();
    const openNext = async () => {
      while (sockets.length < sessions) {
        const socket = new WebSocket(`${server.url.replace(/^http/, "ws")}/ws`, { perMessageDeflate: false });
        sockets.push(endWithClose(socket));
        await once(socket, "open");
      }
    };
    await Promise.all(Array.from({ length: OPENING }, openNext));
    const open = (performance.now() - began) / 1000;
    const first = await playAll(sockets, { server, seed: 1 });
    const next = await playAll(sockets, { server, seed: 1 + sessions });
    return {
      open,
      "first-seconds": first.seconds,
      "first-p99": first.p99,
      ...next,
      finished: Math.min(first.finished, next.finished),
    };
  } finally {
    for (const socket of sockets) socket.terminate();
    await server.close();
  }
}

/** Plays one episode on every socket at the same time. */
async function playAll(sockets, { server, seed }) {
  const [began, own, before] = [performance.now(), process.cpuUsage(), readServerUse(server.port).cpuSeconds];
  const times = [];
  const finished = await Promise.all(sockets.map((socket, index) => playEpisode(socket, seed + index, times)));
  const seconds = (performance.now() - began) / 1000;
  const used = readServerUse(server.port).cpuSeconds - before;
  const { user, system } = process.cpuUsage(own);
  return {
    finished: finished.filter(Boolean).length,
    seconds,
    steps: times.length,
    p99: times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)],
    server: (used * 1e6) / times.length,
    load: (user + system) / times.length,
  };
}

/** Resolves with whether the episode has ended by itself, after at most all guesses. */
async function playEpisode(socket, seed, times) {
  const ask = async (type, data) => {
    socket.send(JSON.stringify({ type, data }));
    const [answer] = await once(socket, "message");
    if (!answer.includes('"type":"observation"')) throw new Error(`not an observation: ${answer}`);
    return answer.includes('"done":true');
  };
  await ask("reset", { seed });
  for (const guess of GUESSES) {
    const asked = performance.now();
    const done = await ask("step", { message: `[${guess}]` });
    times.push(performance.now() - asked);
    if (done) return true;
  }
  return false;
}
