import { Session } from "node:inspector/promises";
import { defineContract, defineEnvironment } from "openenv-ts";
import { serve } from "openenv-ts/server";
import { WebSocket } from "ws";
import * as z from "zod";
import { ROOT } from "../../scripts/root.mjs";

const BUILT = /^file:\/\/(.*)\/packages\/([\w-]+)\/dist\/(.*)\.js$/;
/** A timer of the server may run during a call, so the shortest of several calls counts. */
const CALLS = 7;

/** One warm request of a client, from the socket to the author's code and back. */
const TRIPS = {
  ws: { name: "step over a WebSocket", play: (server) => playSocket(server, "/ws") },
  http: { name: "POST /step of a session", play: playHttp },
  journal: { name: "step with `resume` and a journal", play: (server) => playSocket(server, "/ws?openenv=resume") },
};

export const TRIP_NAMES = Object.keys(TRIPS);

/**
 * Measures with V8's precise coverage which functions of the packages one warm request enters. Returns the name of the trip
 * and its functions by file. The client is not counted: it uses nothing of the packages.
 */
export async function measureTrip(trip, journal) {
  const { name, play } = TRIPS[trip];
  const options = trip === "journal" ? { journal } : {};
  const server = await serve(createCounter(), { port: 0, logLevel: "silent", ...options });
  try {
    const { step, close } = await play(server);
    for (let nth = 0; nth < CALLS; nth++) await step();
    const traces = [];
    for (let nth = 0; nth < CALLS; nth++) traces.push(await trace(step));
    close();
    const [files] = traces.toSorted((a, b) => countFunctions(a) - countFunctions(b));
    return { name, files };
  } finally {
    await server.close();
  }
}

export function countFunctions(files) {
  return [...files.values()].reduce((sum, functions) => sum + functions.length, 0);
}

async function playSocket(server, path) {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}${path}`);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const isNumbered = path.includes("resume");
  let seq = 0;
  const send = async (message) => {
    const numbers = isNumbered && message.type !== "resume" ? { seq: ++seq, ack: seq - 1 } : {};
    const answer = new Promise((resolve) => socket.once("message", resolve));
    socket.send(JSON.stringify({ ...message, ...numbers }));
    return expectAnswer(JSON.parse(await answer));
  };
  if (isNumbered) await send({ type: "resume", data: { token_hash: "0".repeat(64) } });
  await send({ type: "reset", data: {} });
  return { step: () => send({ type: "step", data: { amount: 1 } }), close: () => socket.terminate() };
}

async function playHttp(server) {
  let headers = {};
  const post = async (path, body) => {
    const response = await fetch(`${server.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    expectAnswer({ status: response.status, ...(await response.json()) });
    return response;
  };
  const { headers: answered } = await post("/reset", {});
  headers = { "openenv-session": answered.get("openenv-session") };
  return { step: () => post("/step", { action: { amount: 1 } }), close: () => {} };
}

function expectAnswer(answer) {
  if (answer.type === "error" || answer.status >= 400) throw new Error(JSON.stringify(answer));
  return answer;
}

function createCounter() {
  const contract = defineContract({
    name: "counter_env",
    action: z.object({ amount: z.int() }),
    observation: z.object({ count: z.int() }),
  });
  return defineEnvironment(contract, () => {
    let count = 0;
    return {
      reset: () => ({ observation: { count: (count = 0) } }),
      step: ({ amount }) => ({ observation: { count: (count += amount) }, reward: amount }),
      snapshot: () => count,
      restore: (saved) => void (count = saved),
    };
  });
}

async function trace(call) {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await session.post("Profiler.takePreciseCoverage");
    await call();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const files = new Map();
    for (const { url, functions } of result) {
      const [, root, name, path] = BUILT.exec(url) ?? [];
      if (root !== ROOT) continue;
      const entered = functions.filter(({ ranges }) => ranges.some(({ count }) => count > 0));
      if (entered.length > 0)
        files.set(
          `packages/${name}/src/${path}.ts`,
          entered.map(({ functionName }) => functionName || "(anonymous)"),
        );
    }
    return files;
  } finally {
    session.disconnect();
  }
}
