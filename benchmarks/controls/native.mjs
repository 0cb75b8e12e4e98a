/**
 * `bun native.mjs` or `deno run -A native.mjs`: control.mjs with the server of the runtime. Echoes, with the same frames
 * and responses; JSON in and out, no sessions, no validation.
 */
import { ready } from "./ready.mjs";

const { Bun, Deno } = globalThis;
const options = { port: 0, hostname: "127.0.0.1" };
const health = () => Response.json({ status: "healthy" });
process.once("SIGTERM", () => process.exit(0));

if (Bun !== undefined) {
  const server = Bun.serve({
    ...options,
    fetch: (request, self) => (self.upgrade(request) ? undefined : health()),
    websocket: { message: answer, perMessageDeflate: false },
  });
  ready(server.port);
} else {
  Deno.serve({ ...options, onListen: ({ port }) => ready(port) }, (request) => {
    if (request.headers.get("upgrade") !== "websocket") return health();
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.addEventListener("message", ({ data }) => answer(socket, data));
    return response;
  });
}

function answer(ws, text) {
  const { type, data } = JSON.parse(text);
  if (type === "close") return ws.close(1000);
  const { message = "" } = data;
  const observation = { metadata: {}, echoed_message: message, message_length: message.length };
  ws.send(JSON.stringify({ type: "observation", data: { observation, reward: message.length * 0.1, done: false } }));
}
