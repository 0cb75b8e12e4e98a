import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect } from "openenv-ts/client";
import { WebSocket } from "ws";

const COPIES = 8;
const TOKEN = "the token of the benchmark";

export const title = "copies of a session";

export async function run(bench) {
  const rounds = bench.quick ? 20 : 300;
  return bench.withServer("ours", "snapshots", async ({ url }) => {
    const what = `${COPIES} copies of a session`;
    const row = (id, measure, values, targets) => {
      return { id, measure, unit: "ms, p50", samples: { extension: [median(values)] }, targets };
    };
    return [
      row("fork", `${what}, the request`, await measureRequest(url, rounds), [{ limit: "at most", value: 2 }]),
      row("fork-connected", `${what}, with a socket for each`, await measureClient(url, rounds), []),
    ];
  });
}

/** Milliseconds of each request; its copies stay, as those that no client has resumed yet. */
async function measureRequest(url, rounds) {
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws?openenv=resume`);
  const ask = async (frame) => {
    socket.send(JSON.stringify(frame));
    const [answer] = await once(socket, "message");
    return JSON.parse(answer).data;
  };
  await once(socket, "open");
  const token_hash = createHash("sha256").update(TOKEN).digest("hex");
  const { session_id } = await ask({ type: "resume", data: { token_hash } });
  await ask({ type: "reset", data: {}, seq: 1, ack: 0 });
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const since = performance.now();
    const response = await fetch(`${url}/sessions/${session_id}/fork`, {
      method: "POST",
      headers: { "content-type": "application/json", "openenv-session-token": TOKEN },
      body: JSON.stringify({ count: COPIES }),
    });
    const { sessions } = await response.json();
    times.push(performance.now() - since);
    if (sessions?.length !== COPIES) throw new Error(`${response.status} without ${COPIES} copies`);
  }
  socket.terminate();
  return times;
}

async function measureClient(url, rounds) {
  const env = await connect(url, { resume: true });
  await env.reset();
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const since = performance.now();
    const copies = await env.fork(COPIES);
    times.push(performance.now() - since);
    await Promise.all(copies.map((copy) => copy.close()));
  }
  await env.close();
  return times;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
