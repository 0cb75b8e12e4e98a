import { once } from "node:events";
import { Agent, request } from "node:http";
import { interleave, measureCpu } from "@openenv-ts/bench";
import { WebSocket } from "ws";
import { findPython, startServer } from "../../harness/servers.mjs";
import { three, whole } from "../text.mjs";
import { endWithClose } from "./sockets.mjs";

const STEPS = 1_000;
/** Times 1,000 steps in a round, so that the processor time is many ticks of the system's clock. */
const TIMES = 5;
const ROUNDS = 3;
const STEP = { message: "one step" };

export const title = "What does a message cost?";
export const minutes = 3;
export const picture = { title: `${whole(STEPS)} steps, one after the other`, unit: "ms" };

const WAYS = {
  ws: { name: "by `/ws`", open: openSocket },
  kept: {
    name: "by HTTP on one connection",
    open: (url) => openHttp(url, new Agent({ keepAlive: true, maxSockets: 1 })),
  },
  new: { name: "by HTTP with a new connection each", open: (url) => openHttp(url, new Agent({ keepAlive: false })) },
};

export async function run({ quick }) {
  const subjects = findPython().missing ? ["ours"] : ["ours", "python async"];
  const rows = [];
  for (const [id, { name, open }] of Object.entries(WAYS)) {
    const used = { server: {}, load: {} };
    const took = await interleave(
      quick ? 1 : ROUNDS,
      bySubject(subjects, async (subject) => {
        const { time, server, load } = await measure(subject, open, quick ? 1 : TIMES);
        (used.server[subject] ??= []).push(server);
        (used.load[subject] ??= []).push(load);
        return time;
      }),
    );
    const row = (what, measure, samples, unit) =>
      rows.push({
        id: `messages-${id}${what}`,
        measure: `${whole(STEPS)} steps ${name}${measure}`,
        unit,
        samples,
        targets: [],
      });
    row("", "", took, "ms");
    row("-server", ", processor time of the server", used.server, "ms of CPU");
    row("-load", ", processor time of the load", used.load, "ms of CPU");
  }
  return rows;
}

export function say(value, { subjects }) {
  return subjects.map((subject) => {
    const [ws, kept, fresh] = Object.keys(WAYS).map((id) => value(`messages-${id}`, subject));
    return `\`${subject}\`: ${whole(STEPS)} steps take ${three(ws)} ms by \`/ws\`, ${three(kept / ws)} times as long by HTTP on one connection, and ${three(fresh / ws)} times as long with a new connection each.`;
  });
}

async function measure(subject, open, times) {
  const server = await startServer(subject, "echo");
  try {
    const { step, close } = await open(server.url);
    try {
      for (let done = 0; done < STEPS * times; done++) await step();
      const own = process.cpuUsage();
      const { seconds, cpuSeconds } = await measureCpu(server.pid, async () => {
        for (let done = 0; done < STEPS * times; done++) await step();
      });
      const { user, system } = process.cpuUsage(own);
      const per = 1000 / times;
      return { time: seconds * per, server: cpuSeconds * per, load: ((user + system) / 1e6) * per };
    } finally {
      close();
    }
  } finally {
    await server.close();
  }
}

async function openSocket(url) {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/ws`, { perMessageDeflate: false });
  endWithClose(socket);
  await once(socket, "open");
  const ask = async (type, data) => {
    socket.send(JSON.stringify({ type, data }));
    const [answer] = await once(socket, "message");
    if (!answer.includes('"type":"observation"')) throw new Error(`not an observation: ${answer}`);
  };
  await ask("reset", {});
  return { step: () => ask("step", STEP), close: () => socket.close() };
}

/** A server without sessions over HTTP, such as the Python package, answers each step from a new environment. */
async function openHttp(url, agent) {
  const post = (path, body, headers) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const options = {
        method: "POST",
        agent,
        headers: { "content-type": "application/json", "content-length": text.length, ...headers },
      };
      const asked = request(url + path, options, (response) => {
        response.resume();
        response.once("end", () =>
          response.statusCode === 200
            ? resolve(response.headers)
            : reject(new Error(`${path}: ${response.statusCode}`)),
        );
      });
      asked.once("error", reject);
      asked.end(text);
    });
  const { "openenv-session": session } = await post("/reset", {});
  const headers = session === undefined ? {} : { "openenv-session": session };
  return { step: () => post("/step", { action: STEP }, headers), close: () => agent.destroy() };
}

function bySubject(subjects, measureOne) {
  return Object.fromEntries(subjects.map((subject) => [subject, () => measureOne(subject)]));
}
