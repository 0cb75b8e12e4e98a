import { createLoad } from "@openenv-ts/bench";
import { createFrameLoad } from "../harness/frame-load.mjs";
import { echoWorkload, measureRate } from "../harness/rate.mjs";

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

async function single(bench, server, seconds) {
  const load = await createLoad({ url: server.url, connections: SESSIONS, workload: echoWorkload });
  try {
    await load.step(1);
    return await measureRate(bench, { subject: "plain", server, work: () => load.step(seconds) });
  } finally {
    await load.close();
  }
}

async function batched(bench, server, seconds) {
  const items = Array.from({ length: SESSIONS }, (_, session) => ({ session, data: echoWorkload.actions(session)[0] }));
  const load = await createFrameLoad({
    url: server.url,
    extensions: "batch",
    connections: BATCHES,
    hello: [
      JSON.stringify({ type: "open_many", data: { count: SESSIONS } }),
      JSON.stringify({ type: "reset_many", data: { items: items.map(({ session }) => ({ session })) } }),
    ],
    frame: JSON.stringify({ type: "step_many", data: { items } }),
    check: (answer) => findFault(JSON.parse(answer).data.items, items),
  });
  try {
    await load.ask(1);
    const frames = await measureRate(bench, { subject: "extension", server, work: () => load.ask(seconds) });
    return frames * SESSIONS;
  } finally {
    await load.close();
  }
}

function findFault(replies, items) {
  if (replies.length !== items.length) return `${replies.length} replies to ${items.length} items`;
  return replies.map(({ data }, nth) => echoWorkload.check(data, items[nth].data)).find((problem) => problem);
}
