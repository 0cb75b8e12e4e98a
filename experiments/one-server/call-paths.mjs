import { Session } from "node:inspector/promises";
import { defineContract, defineEnvironment } from "openenv-ts";
import { serve } from "openenv-ts/server";
import { WebSocket } from "ws";
import * as z from "zod";

const PACKAGE = new URL("../../packages/openenv/dist/", import.meta.url).href;

/**
 * The files and functions of the package that run in one call, from the socket to the author's code and back, by V8
 * coverage. The first call is not counted, because it includes one-time work.
 */
export async function measurePaths() {
  const server = await serve(createCounter(), { port: 0, logLevel: "silent" });
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const send = (message) =>
    new Promise((resolve) => {
      socket.once("message", resolve);
      socket.send(JSON.stringify(message));
    });
  try {
    await send({ type: "reset", data: {} });
    const step = await trace(() => send({ type: "step", data: { amount: 1 } }));
    const reset = await trace(async () => {
      const response = await fetch(`${server.url}/reset`, { method: "POST" });
      await response.text();
    });
    return { step, reset };
  } finally {
    socket.terminate();
    await server.close();
  }
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
    };
  });
}

/** The shortest of several calls, because a timer of the server may run during a call. */
async function trace(call) {
  await call();
  const traces = [];
  for (let nth = 0; nth < 5; nth++) traces.push(await traceOnce(call));
  return traces.toSorted((a, b) => a.functions - b.functions)[0];
}

async function traceOnce(call) {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await session.post("Profiler.takePreciseCoverage");
    await call();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const called = result
      .filter(({ url }) => url.startsWith(PACKAGE))
      .map(({ functions }) => functions.filter(({ ranges }) => ranges.some(({ count }) => count > 0)).length)
      .filter((functions) => functions > 0);
    return { files: called.length, functions: called.reduce((sum, functions) => sum + functions, 0) };
  } finally {
    session.disconnect();
  }
}
