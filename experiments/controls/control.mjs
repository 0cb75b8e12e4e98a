/**
 * `node control.mjs echo|text|numbers`: the least that can answer the same frames with the same answers. node:http and
 * ws, JSON in and out, `/health`; no sessions, no validation. What a server costs above it is the price of its promises.
 */
import { createServer } from "node:http";
import { WebSocketServer } from "ws";
// Unused by the answers: a server that declares a schema has to load it, and the control of the start time is one.
import * as z from "zod";
import { makeNumbers, makeText } from "./observations.mjs";
import { ready } from "./ready.mjs";

export const action = z.object({ message: z.string() });

const environments = {
  echo: () => echo,
  text: () => always({ text: makeText() }),
  numbers: () => always({ values: makeNumbers() }),
};
const observe = environments[process.argv[2]]();

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false });
const server = createServer((request, response) => {
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

function echo({ message = "" }) {
  return [{ echoed_message: message, message_length: message.length }, message.length * 0.1];
}

function always(observation) {
  return () => [observation, 1];
}
