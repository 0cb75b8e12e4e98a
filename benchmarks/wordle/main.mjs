/**
 * `npm run bench -- wordle`: CPU time of the server for a step of envs/wordle, in whole episodes over `/ws` including
 * resets. Options: --quick.
 */
import { once } from "node:events";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { renderReport } from "@openenv-ts/bench";
import { WebSocket } from "ws";
import { measureRate } from "../harness/rate.mjs";
import { startServer } from "../harness/servers.mjs";

const CONNECTIONS = 32;
const TARGET_MICROSECONDS = 50;
const GUESSES = ["crane", "moist", "bulky", "fudge", "whelp", "vixen"];

const frames = GUESSES.map((word) => JSON.stringify({ type: "step", data: { message: `[${word}]` } }));

const { values: options } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const [rounds, seconds] = options.quick ? [2, 1] : [6, 3];
const bench = { busy: {} };
const samples = { wordle: [] };
const server = await startServer("wordle");
try {
  const peers = await Promise.all(Array.from({ length: CONNECTIONS }, open));
  await playAll(peers, 1);
  for (let round = 0; round < rounds; round++) {
    const rate = await measureRate(bench, { subject: "wordle", server, work: () => playAll(peers, seconds) });
    samples.wordle.push(1e6 / rate);
  }
  for (const socket of peers) socket.close();
} finally {
  await server.close();
}
process.stdout.write(
  renderReport({
    title: "Cost of a Wordle step",
    facts: {
      date: new Date().toISOString().slice(0, 10),
      node: process.version,
      machine: `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}, ${process.platform} ${process.arch}, shared`,
    },
    subjects: ["wordle"],
    rows: [
      {
        id: "wordle-step",
        measure: `a step, ${CONNECTIONS} connections`,
        unit: "µs of server CPU time",
        samples,
        targets: [{ limit: "at most", value: TARGET_MICROSECONDS }],
      },
    ],
    notes: [
      "Episodes of six guesses or fewer, one after the other on each socket; the time of resets is included.",
      `Rounds: ${samples.wordle.map((value) => value.toFixed(1)).join(", ")} µs; user and system, all threads.`,
    ],
  }),
);

async function open() {
  const socket = new WebSocket(`${server.url.replace(/^http/, "ws")}/ws`, { perMessageDeflate: false });
  await once(socket, "open");
  return socket;
}

/** Plays whole episodes on every socket until the time is over; `done` is the number of steps. */
async function playAll(peers, seconds) {
  const until = performance.now() + seconds * 1000;
  const steps = await Promise.all(peers.map((socket) => playPeer(socket, until)));
  return { done: steps.reduce((sum, count) => sum + count, 0), seconds };
}

function playPeer(socket, until) {
  return new Promise((resolve, reject) => {
    let [guess, steps] = [0, 0];
    const reset = () => {
      guess = 0;
      socket.send('{"type":"reset","data":{}}');
    };
    socket.onclose = () => reject(new Error("a socket was closed"));
    socket.onmessage = ({ data }) => {
      // Searches the text instead of parsing: a slow load would make the server wait, and pay for waking up.
      if (!data.includes('"type":"observation"')) return reject(new Error(`not an observation: ${data}`));
      if (guess > 0) steps++;
      if (!data.includes('"done":true')) return socket.send(frames[guess++]);
      return performance.now() < until ? reset() : resolve(steps);
    };
    reset();
  });
}
