import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import * as z from "zod";
import { LARGE_MESSAGE } from "#parts/sockets/scheduling";
import { useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import { pipelineRequests, renderRequest } from "../../../../../test-support/sockets/pipelined-requests.js";
import { defineContract, defineEnvironment, defineTools } from "../../index.js";

const { start, open } = useServers();

const PEERS = 20;
const BYSTANDER = -1;
/** Longer than a turn of the event loop: no two of them fit into one. */
const LONG_MS = 6;
const LARGE = "x".repeat(LARGE_MESSAGE);

const contract = defineContract({
  name: "turns_env",
  action: z.object({ peer: z.int(), ms: z.number().default(0), text: z.string().default("") }),
  observation: z.object({}),
  tools: defineTools({
    note: { description: "Notes who calls.", input: z.object({ peer: z.int(), ms: z.number(), text: z.string() }) },
  }),
});

/** A server that notes whose steps it runs, in their order. */
async function startNoting() {
  const ran: number[] = [];
  const note = ({ peer, ms }: { peer: number; ms: number }): void => {
    const end = performance.now() + ms;
    while (performance.now() < end);
    ran.push(peer);
  };
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: {} }),
    step: (action) => {
      note(action);
      return { observation: {} };
    },
    tools: { note },
  }));
  const server = await start({ maxConcurrentEnvs: PEERS + 1 }, { environment });
  return { server, ran, port: Number(new URL(server.url).port) };
}

const largeStep = (peer: number) => ({ peer, ms: LONG_MS, text: LARGE });
const largeCall = (peer: number) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "note", arguments: largeStep(peer) },
});

test.each([
  ["POST /step", "/step", (peer: number) => ({ action: largeStep(peer) })],
  ["JSON-RPC", "/mcp", largeCall],
])("a socket is answered between large bodies that were completed together: %s", async (_, path, body) => {
  const { server, ran, port } = await startNoting();
  const bystander = await open(server);
  await bystander.ask({ type: "reset" });
  const sockets: Socket[] = [];
  const requests = Array.from({ length: PEERS }, (_peer, peer) => renderRequest(path, body(peer)));
  for (const request of requests) {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    sockets.push(socket.resume());
    await once(socket, "connect");
    await new Promise((resolve) => socket.write(request.slice(0, -1), resolve));
  }
  // So that all but the last byte of each has been read.
  for (let i = 0; i < 3; i++) await bystander.ask({ type: "step", data: { peer: BYSTANDER } });
  ran.length = 0;
  for (const [peer, socket] of sockets.entries()) socket.write(requests[peer]?.slice(-1) ?? "");
  const stepsOfPeers = () => ran.filter((peer) => peer !== BYSTANDER);
  while (stepsOfPeers().length < PEERS) await bystander.ask({ type: "step", data: { peer: BYSTANDER } });
  for (const socket of sockets) socket.destroy();

  expect(new Set(stepsOfPeers()).size).toBe(PEERS);
  // A round trip takes a few turns of the loop, because both sides share it; each turn has one large body.
  const between = ran.join(" ").split(String(BYSTANDER));
  expect(Math.max(...between.map((part) => part.split(" ").filter(Boolean).length))).toBeLessThanOrEqual(4);
});

test("peers that send large requests and large frames without waiting take turns, one message at a time", async () => {
  const { server, ran, port } = await startNoting();
  const EACH = 12;
  const half = PEERS / 2;
  const frames = [];
  for (let peer = half; peer < PEERS; peer++) frames.push(await open(server));
  for (const socket of frames) await socket.ask({ type: "reset" });
  const sockets = [];
  for (let peer = 0; peer < half; peer++) {
    const request = renderRequest("/step", { action: largeStep(peer) });
    sockets.push(pipelineRequests(port, request.repeat(EACH)).resume());
  }
  for (const [i, socket] of frames.entries()) {
    socket.send(...(Array<object>(EACH).fill({ type: "step", data: largeStep(half + i) }) as []));
  }
  await waitFor(() => ran.length === PEERS * EACH);
  for (const socket of sockets) socket.destroy();

  // While all have something that waits: since the last has begun, until the first is done.
  const peers = Array.from({ length: PEERS }, (_, peer) => peer);
  const begun = Math.max(...peers.map((peer) => ran.indexOf(peer)));
  const done = Math.min(...peers.map((peer) => ran.lastIndexOf(peer)));
  const turns = ran.slice(begun, done);
  expect(turns.length).toBeGreaterThan(PEERS);
  const lastTurn = new Map<number, number>();
  for (const [at, peer] of turns.entries()) {
    const between = turns.slice((lastTurn.get(peer) ?? at) + 1, at);
    expect(new Set(between).size).toBe(between.length);
    lastTurn.set(peer, at);
  }
});
