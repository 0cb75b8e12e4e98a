import { expect, test } from "vitest";
import * as z from "zod";
import { startLimited } from "../../../../../test-support/servers/limited-server.js";
import { waitFor } from "../../../../../test-support/servers/servers.js";
import { openRawPeer } from "../../../../../test-support/sockets/raw-peer.js";
import { defineContract, defineEnvironment } from "../../index.js";

const MB = 1024 * 1024;
const contract = defineContract({
  name: "text_env",
  action: z.object({}),
  observation: z.object({ text: z.string() }),
});

test("what waits on all sockets is bounded: when it is much, each peer gets little, and all is given back", async () => {
  let steps = 0;
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: { text: "" } }),
    step: () => {
      steps++;
      return { observation: { text: "x".repeat(100_000) } };
    },
  }));
  const { backlog, context, url, close } = await startLimited(environment, 8 * MB);

  const peers = [];
  for (let i = 0; i < 12; i++) {
    const peer = await openRawPeer(url);
    peers.push(peer);
    peer.send({ type: "reset" }, ...Array(300).fill({ type: "step", data: {} }));
    // Until no more steps are taken: not in one look, nor in the ten after it.
    for (let before = steps, quiet = 0; quiet < 10; before = steps) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      quiet = steps > before ? 0 : quiet + 1;
    }
  }
  // Two that keep 4 MB each and ten that keep one answer, not twelve that keep 4 MB.
  await waitFor(() => backlog.isFull);
  expect(backlog.used).toBeLessThan(12 * MB);
  expect(steps).toBeLessThan(12 * 300);

  let read = 0;
  peers[0]?.socket.on("data", (chunk) => (read += chunk.length)).resume();
  await waitFor(() => read > 300 * 100_000);
  for (const { socket } of peers) socket.destroy();
  await waitFor(() => context.sessions.load().active === 0 && backlog.used === 0);
  close();
}, 60_000);

test("answers that were not taken are charged, however few they are, and given back when they are", async () => {
  let steps = 0;
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: { text: "" } }),
    step: () => {
      steps++;
      return { observation: { text: "x".repeat(1_000_000) } };
    },
  }));
  const { backlog, url, close } = await startLimited(environment, 256 * MB);
  const peer = await openRawPeer(url);
  peer.send({ type: "reset" });
  // What the system takes differs; then one answer or a few wait, below the 4 MB at which the peer is waited for.
  for (let sent = 1; backlog.used === 0; sent++) {
    peer.send({ type: "step", data: {} });
    await waitFor(() => steps === sent);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(backlog.used).toBeLessThan(2 * MB);
  peer.socket.resume();
  await waitFor(() => backlog.used === 0);
  peer.socket.destroy();
  close();
}, 60_000);
