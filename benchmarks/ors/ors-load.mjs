import { Agent, request } from "node:http";

/** Calls of an echo tool over ORS, on keep-alive connections, each with a separate session. */
export async function createOrsLoad({ url, connections }) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const [environment] = JSON.parse((await send("GET", "/list_environments", "first")).text);
  const peers = await Promise.all(Array.from({ length: connections }, (_, peer) => open(peer)));
  return { call, close };

  async function open(peer) {
    const { text } = await send("POST", "/create_session", undefined, {});
    const id = /event: task_id\r?\ndata: (\S+)/.exec(text)[1];
    const created = await send("POST", "/create", id, { split: "train", index: 0 });
    if (created.status !== 200) throw new Error(`/create answered ${created.status}: ${created.text}`);
    return { peer, id };
  }

  /** Calls on every connection until the time is over. */
  async function call(seconds) {
    const until = performance.now() + seconds * 1000;
    const done = await Promise.all(peers.map((peer) => callInTurn(peer, until)));
    return { done: done.reduce((sum, count) => sum + count, 0), seconds };
  }

  async function callInTurn({ peer, id }, until) {
    let done = 0;
    for (; performance.now() < until; done++) {
      const message = `connection ${peer} says ${done % 4}`;
      const { text } = await send("POST", `/${environment}/call`, id, { name: "echo_message", input: { message } });
      const end = /event: end\r?\ndata: (.*?)\r?\n/.exec(text)?.[1];
      const { ok, output } = JSON.parse(end ?? "{}");
      if (ok !== true || output.blocks[0]?.text !== message) throw new Error(`not the echo: ${text}`);
    }
    return done;
  }

  async function close() {
    await Promise.all(peers.map(({ id }) => send("POST", "/delete", id)));
    agent.destroy();
  }

  function send(method, path, id, body) {
    const text = body === undefined ? "" : JSON.stringify(body);
    const headers = {
      ...(id !== undefined && { "x-session-id": id }),
      ...(body !== undefined && { "content-type": "application/json" }),
      "content-length": Buffer.byteLength(text),
    };
    return new Promise((resolve, reject) => {
      const asked = request(url + path, { method, agent, headers }, (response) => {
        let answer = "";
        response.setEncoding("utf8").on("data", (part) => (answer += part));
        response.once("end", () => resolve({ status: response.statusCode, text: answer }));
      });
      asked.once("error", reject);
      asked.end(text);
    });
  }
}
