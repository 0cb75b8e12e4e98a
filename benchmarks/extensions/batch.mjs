import { measureFrames } from "../harness/frame-load.mjs";
import { echoWorkload, measureSteps } from "../harness/rate.mjs";

const SESSIONS = 64;
/** Sockets with one batch each, enough that the server never waits for the load. */
const BATCHES = 4;

export const title = "batched steps";

export async function run(bench) {
  const [rounds, seconds] = bench.quick ? [2, 1] : [6, 2];
  const samples = await bench.compare({ extension: batched, plain: single }, rounds, (work) =>
    bench.withServer("ours", "echo", (server) => work(bench, server, seconds)),
  );
  return [
    {
      id: "batch-steps",
      measure: `steps, ${SESSIONS} sessions a frame`,
      unit: "per server CPU-second",
      samples,
      targets: [{ limit: "at least", value: 4, of: "plain" }],
    },
  ];
}

function single(bench, server, seconds) {
  return measureSteps(bench, { subject: "plain", server, connections: SESSIONS, warmUp: 1, seconds });
}

async function batched(bench, server, seconds) {
  const items = Array.from({ length: SESSIONS }, (_, session) => ({ session, data: echoWorkload.actions(session)[0] }));
  const frames = await measureFrames(bench, {
    ...{ subject: "extension", server, warmUp: 1, seconds },
    extensions: "batch",
    connections: BATCHES,
    hello: [
      JSON.stringify({ type: "open_many", data: { count: SESSIONS } }),
      JSON.stringify({ type: "reset_many", data: { items: items.map(({ session }) => ({ session })) } }),
    ],
    frame: JSON.stringify({ type: "step_many", data: { items } }),
    check: (answer) => findFault(JSON.parse(answer).data.items, items),
  });
  return frames * SESSIONS;
}

function findFault(replies, items) {
  if (replies.length !== items.length) return `${replies.length} replies to ${items.length} items`;
  return replies.map(({ data }, nth) => echoWorkload.check(data, items[nth].data)).find((problem) => problem);
}
