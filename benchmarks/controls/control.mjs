/**
 * `node control.mjs echo|tools|text|numbers`: a minimal server with the same frames and responses. node:http and ws, JSON
 * in and out, `/step`, `/mcp`, `/health`; no sessions, no validation. The difference to it is the cost of the package's
 * features.
 */
import { createServer } from "node:http";
import { WebSocketServer } from "ws";
// Unused by the responses: a server that declares a schema must load zod, so the control of the start time does, too.
import * as z from "zod";
import { makeNumbers, makeText } from "./observations.mjs";
import { ready } from "./ready.mjs";

export const action = z.object({ message: z.string() });

const environments = {
  echo: () => echo,
  tools: () => echo,
  text: () => always({ text: makeText() }),
  numbers: () => always({ values: makeNumbers() }),
};
const observe = environments[process.argv[2]]();

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false });
const server = createServer((request, response) => {
  if (request.method === "POST") return answerPost(request, response);
  response.writeHead(request.url === "/health" ? 200 : 404, { "content-type": "application/json" });
  response.end('{"status":"healthy"}');
});
server.on("upgrade", (request, socket, head) => sockets.handleUpgrade(request, socket, head, accept));
server.listen(0, "127.0.0.1", () => ready(server.address().port));
process.once("SIGTERM", () => process.exit(0));

function accept(ws) {
  ws.on("message", (text) => {
    const { type, data } = JSON.parse(text);
    if (type === "close") return ws.close(1000);
    const [fields, reward] = observe(data);
    const observation = { metadata: {}, ...fields };
    ws.send(JSON.stringify({ type: "observation", data: { observation, reward, done: false } }));
  });
}

function answerPost(request, response) {
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    const value = body === "" ? {} : JSON.parse(body);
    const text = JSON.stringify(request.url === "/mcp" ? answerCall(value) : answerStep(value));
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
    response.end(text);
  });
}

function answerStep({ action = {} }) {
  const [fields, reward] = observe(action);
  return { observation: { ...fields, metadata: {} }, reward, done: false, metadata: null };
}

function answerCall({ id, params: { arguments: given } }) {
  if (given === undefined) return { jsonrpc: "2.0", id, result: { session_id: "control" } };
  const { message } = given;
  const content = [{ type: "text", text: message, annotations: null, meta: null }];
  const meta = { fastmcp: { wrap_result: true } };
  const structured_content = { result: message };
  return { jsonrpc: "2.0", id, result: { content, structured_content, meta, data: message, is_error: false } };
}

function echo({ message = "" }) {
  return [{ echoed_message: message, message_length: message.length }, message.length * 0.1];
}

function always(observation) {
  return () => [observation, 1];
}
