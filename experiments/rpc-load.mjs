import { Agent, request } from "node:http";

const EVENTS = "application/json, text/event-stream";
const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "bench", version: "1" },
};

/** Calls of a tool that echoes, over connections that are kept, each with a session of its own: of real MCP or not. */
export async function createRpcLoad({ url, connections, real }) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const peers = await Promise.all(Array.from({ length: connections }, (_, peer) => open(peer)));
  return { call, close };

  async function open(peer) {
    if (!real) {
      const { result } = await rpc("openenv/session/create", {}, {});
      return { peer, headers: {}, params: { session_id: result.session_id } };
    }
    const { headers } = await send("POST", { accept: EVENTS }, frame("initialize", INITIALIZE));
    const session = {
      accept: EVENTS,
      "mcp-session-id": headers["mcp-session-id"],
      "mcp-protocol-version": INITIALIZE.protocolVersion,
    };
    await send("POST", session, JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
    return { peer, headers: session, params: {} };
  }

  /** Calls on every connection until the time is up. */
  async function call(seconds) {
    const until = performance.now() + seconds * 1000;
    const done = await Promise.all(peers.map((peer) => callInTurn(peer, until)));
    return { done: done.reduce((sum, count) => sum + count, 0), seconds };
  }

  async function callInTurn({ peer, headers, params }, until) {
    let done = 0;
    for (; performance.now() < until; done++) {
      const message = `connection ${peer} says ${done % 4}`;
      const { result } = await rpc("tools/call", { ...params, name: "echo_message", arguments: { message } }, headers);
      if (result?.content?.[0]?.text !== message) throw new Error(`not the echo: ${JSON.stringify(result)}`);
    }
    return done;
  }

  async function close() {
    const ends = peers.map(({ headers, params }) =>
      real ? send("DELETE", headers) : rpc("openenv/session/close", params, {}),
    );
    await Promise.all(ends);
    agent.destroy();
  }

  async function rpc(method, params, headers) {
    const { text } = await send("POST", headers, frame(method, params));
    return JSON.parse(text.startsWith("event:") ? text.slice(text.indexOf("data:") + 5) : text);
  }

  function send(method, headers, body = "") {
    const content =
      body === "" ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const asked = request(`${url}/mcp`, { method, agent, headers: { ...headers, ...content } }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part) => (text += part));
        response.once("end", () => resolve({ headers: response.headers, text }));
      });
      asked.once("error", reject);
      asked.end(body);
    });
  }
}

function frame(method, params) {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
}
