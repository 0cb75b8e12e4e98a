import { createFrameLoad, measureFrames } from "../harness/frame-load.mjs";
import { echoWorkload } from "../harness/rate.mjs";
import { startServer } from "../harness/servers.mjs";
import { measureGrowth } from "../harness/session-memory.mjs";

export const CONNECTIONS = 32;
const FEW = 1_000;
const MANY = 5_000;
const SETTLE_MS = 700;
const [ACTION] = echoWorkload.actions(0);

/** The frames of both variants; `frame` gets the number of the step, from 1. */
const VARIANTS = {
  extension: {
    extensions: "resume",
    hello: [
      JSON.stringify({ type: "resume", data: { token_hash: "0".repeat(64) } }),
      JSON.stringify({ type: "reset", seq: 1, ack: 0 }),
    ],
    frame: (nth) => JSON.stringify({ type: "step", data: ACTION, seq: nth + 1, ack: nth }),
  },
  plain: {
    extensions: "",
    hello: [JSON.stringify({ type: "reset" })],
    frame: () => JSON.stringify({ type: "step", data: ACTION }),
  },
};

export const title = "resumable sessions";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [10, 2];
  const variants = { extension: "extension", plain: "plain" };
  const steps = await bench.compare(variants, rounds, (subject) =>
    bench.withServer("ours", "echo", (server) => measureSteps(bench, { subject, server, seconds })),
  );
  const memory = await bench.compare(variants, bench.quick ? 1 : 3, measureMemory);
  const more = memory.extension.map((value, round) => value - memory.plain[round]);
  const row = (id, measure, unit, samples, ...targets) => ({ id: `resume-${id}`, measure, unit, samples, targets });
  return [
    row("steps", `steps, ${CONNECTIONS} connections, resumable`, "per server CPU-second", steps, {
      limit: "at least",
      value: 0.9,
      of: "plain",
    }),
    row("memory", "memory of an idle resumable session", "kB", memory),
    row("memory-more", "more than without", "kB", { extension: more }, { limit: "at most", value: 2 }),
  ];
}

export function measureSteps(bench, { subject, server, seconds }) {
  const frames = framesOf(subject, CONNECTIONS);
  return measureFrames(bench, { subject, server, warmUp: 1, seconds, ...frames });
}

/** Of each session, one answer is stored. */
async function measureMemory(subject) {
  const server = await startServer("ours", "echo", ["--expose-gc"]);
  try {
    return await measureGrowth([FEW, MANY], {
      open: (connections) => createFrameLoad({ url: server.url, ...framesOf(subject, connections) }),
      pids: () => [server.pid],
      settleMs: SETTLE_MS,
    });
  } finally {
    await server.close();
  }
}

export function framesOf(subject, connections) {
  const check = (answer) => echoWorkload.check(JSON.parse(answer).data, ACTION);
  return { connections, check, ...VARIANTS[subject] };
}
