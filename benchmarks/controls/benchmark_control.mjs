/**
 * `PORT=0 WORKERS=2 node benchmark_control.mjs`: a minimal server that can play a burst. Worker processes accept from
 * one shared handle, with node:http and ws, JSON in and out, and the same responses; no sessions, no validation, no
 * capacity.
 */
import cluster from "node:cluster";
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { hostname } from "node:os";
import { WebSocketServer } from "ws";
import { ready } from "./ready.mjs";

const BACKLOG = 65_535;

if (cluster.isPrimary) startWorkers();
else listen();

function startWorkers() {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  let waiting = Number(process.env.WORKERS ?? 1);
  for (let worker = 0; worker < waiting; worker++) cluster.fork();
  cluster.on("listening", (_worker, { port }) => --waiting === 0 && ready(port));
  process.once("SIGTERM", () => process.exit(0));
}

function listen() {
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false });
  const server = createServer((_request, response) => response.writeHead(404).end());
  server.on("upgrade", (request, socket, head) => sockets.handleUpgrade(request, socket, head, accept));
  server.listen({ port: Number(process.env.PORT ?? 0), host: "127.0.0.1", backlog: BACKLOG });
  process.once("disconnect", () => process.exit());
}

function accept(ws) {
  const session = randomBytes(8).toString("hex");
  ws.on("message", (text) => {
    const { type, data } = JSON.parse(text);
    if (type === "close") return ws.close(1000);
    const wait = data.wait_seconds ?? 0;
    if (wait === 0) answer(ws, session, 0);
    else setTimeout(answer, wait * 1000, ws, session, wait);
  });
  ws.on("error", () => {});
}

function answer(ws, session_hash, waited_seconds) {
  const where = { host_url: hostname(), pid: process.pid, timestamp: Date.now() / 1000 };
  const metadata = { waited: waited_seconds };
  const observation = { ...where, session_hash, waited_seconds, metadata };
  const data = { observation, reward: 1 / (1 + waited_seconds), done: false, metadata };
  ws.send(JSON.stringify({ type: "observation", data }));
}
