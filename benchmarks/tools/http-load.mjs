import { Agent, request } from "node:http";

const EVENTS = "application/json, text/event-stream";
const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "bench", version: "1" },
};
const JSON_BODY = { "content-type": "application/json" };

/**
 * Calls of an echo over keep-alive connections, each with a separate session. `kind` is `step` (POST /step), `rpc` (plain
 * JSON-RPC on POST /mcp) or `mcp` (MCP over Streamable HTTP).
 */
export async function createHttpLoad({ url, connections, kind }) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { open, call: callOnce, close: closeOne = () => {} } = KINDS[kind](send);
  const peers = await Promise.all(Array.from({ length: connections }, open));
  return { call, close };

  /** So many calls on each connection. */
  async function call(count) {
    await Promise.all(peers.map((peer, nth) => callInTurn(peer, nth, count)));
    return { done: count * connections };
  }

  async function callInTurn(peer, nth, count) {
    for (let done = 0; done < count; done++) {
      const message = `connection ${nth} says ${done % 4}`;
      const echoed = await callOnce(peer, message);
      if (echoed !== message) throw new Error(`not the echo of "${message}": ${echoed}`);
    }
  }

  async function close() {
    await Promise.all(peers.map(closeOne));
    agent.destroy();
  }

  function send(method, path, headers, body = "") {
    const content = body === "" ? {} : { ...JSON_BODY, "content-length": Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const asked = request(url + path, { method, agent, headers: { ...headers, ...content } }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part) => (text += part));
        response.once("end", () => resolve({ headers: response.headers, text }));
      });
      asked.once("error", reject);
      asked.end(body);
    });
  }
}

const KINDS = {
  step: (send) => ({
    async open() {
      const { headers } = await send("POST", "/reset", {});
      return { "openenv-session": headers["openenv-session"] ?? "none" };
    },
    async call(headers, message) {
      const { text } = await send("POST", "/step", headers, JSON.stringify({ action: { message } }));
      return JSON.parse(text).observation?.echoed_message;
    },
  }),
  rpc: (send) => ({
    async open() {
      const { text } = await send("POST", "/mcp", {}, frame("openenv/session/create", {}));
      return { session_id: JSON.parse(text).result.session_id };
    },
    async call(params, message) {
      const { text } = await send("POST", "/mcp", {}, toolCall(message, params));
      return echoOf(text);
    },
    close: (params) => send("POST", "/mcp", {}, frame("openenv/session/close", params)),
  }),
  mcp: (send) => ({
    async open() {
      const { headers } = await send("POST", "/mcp", { accept: EVENTS }, frame("initialize", INITIALIZE));
      const session = {
        accept: EVENTS,
        "mcp-session-id": headers["mcp-session-id"],
        "mcp-protocol-version": INITIALIZE.protocolVersion,
      };
      const initialized = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
      await send("POST", "/mcp", session, initialized);
      return session;
    },
    async call(session, message) {
      const { text } = await send("POST", "/mcp", session, toolCall(message));
      return echoOf(text.startsWith("event:") ? text.slice(text.indexOf("data:") + 5) : text);
    },
    close: (session) => send("DELETE", "/mcp", session),
  }),
};

function toolCall(message, params = {}) {
  return frame("tools/call", { ...params, name: "echo_message", arguments: { message } });
}

function echoOf(text) {
  return JSON.parse(text).result?.content?.[0]?.text;
}

function frame(method, params) {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
}
