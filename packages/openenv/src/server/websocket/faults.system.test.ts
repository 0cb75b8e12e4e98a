import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openDescriptors } from "../../../../../test-support/commands/processes.js";
import {
  openAll,
  RESET,
  startCluster,
  step,
  type TestCluster,
  until,
} from "../../../../../test-support/servers/cluster.js";
import { openRawPeer } from "../../../../../test-support/sockets/raw-peer.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";

const isIdle = async (server: TestCluster): Promise<boolean> => (await server.capacity()).active_sessions === 0;

/** The counters of the process: environments created and closed, steps done. */
async function counts({ url }: TestCluster): Promise<Record<string, number>> {
  await using socket = await openTestSocket(`${url}/ws`);
  const { data } = await socket.ask(RESET);
  return (data as { observation: Record<string, number> }).observation;
}

function linesOf(server: TestCluster): Record<string, unknown>[] {
  // The last line may be incomplete.
  const whole = server.command.stderr.split("\n").slice(0, -1);
  const lines = whole.filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe.skipIf(!existsSync("/proc/self/fd"))("a server whose peers fail", () => {
  test("frees slots, descriptors and environments of 1,000 sockets that break in the middle of a step", async () => {
    await using server = await startCluster({ MAX_CONCURRENT_ENVS: "100" });
    const pid = server.command.process.pid as number;
    await counts(server);
    await until(() => isIdle(server));
    const before = openDescriptors(pid);
    for (let round = 0; round < 10; round++) {
      const sessions = await openAll(server.url, 100);
      for (const { socket } of sessions) socket.send(step(15));
      // By then some steps have started and others have not.
      await sleep(5);
      for (const { socket } of sessions) {
        (socket.ws as unknown as { _socket: { resetAndDestroy(): void } })._socket.resetAndDestroy();
      }
      await until(() => isIdle(server));
    }
    // One was made and closed when the server started.
    expect(await counts(server)).toMatchObject({ made: 1003, closed: 1002 });
    await until(() => openDescriptors(pid) <= before);
    await until(() => linesOf(server).filter(({ msg }) => msg === "session ended").length === 1002);
    // Each session has a line for its start and one for its end.
    expect(linesOf(server).length).toBeLessThan(2020);
  }, 180_000);

  test("frees the slot and closes the socket of a peer that disappears", async () => {
    await using server = await startCluster({ PING_INTERVAL: "2" });
    const pid = server.command.process.pid as number;
    await using alive = await openTestSocket(`${server.url}/ws`);
    await alive.ask(RESET);
    const before = openDescriptors(pid);
    const peer = await openRawPeer(server.url);
    peer.send(RESET);
    await until(async () => (await server.capacity()).active_sessions === 2);
    await until(async () => (await server.capacity()).active_sessions === 1);
    await until(() => linesOf(server).some(({ reason }) => reason === "no answer to pings"));
    // The peer never closes its side.
    await until(() => openDescriptors(pid) <= before);
    expect(await alive.ask(step(1))).toMatchObject({ data: { observation: { count: 1 } } });
    peer.socket.destroy();
  }, 60_000);

  test("buffers little for a peer that does not read its answers, and then closes it", async () => {
    await using server = await startCluster({ PING_INTERVAL: "2" });
    const peer = await openRawPeer(server.url);
    const closed = new Promise((resolve) => peer.socket.once("close", resolve));
    peer.send(RESET, ...Array(400).fill(step(16)));
    await until(async () => (await counts(server))["steps"] !== 0);
    await until(() => isIdle(server));
    // All answers together are 400 MB.
    expect((await counts(server))["steps"]).toBeLessThan(60);
    await until(() => linesOf(server).some(({ reason }) => reason === "the client did not read its answers"));
    peer.socket.resume();
    await closed;
  }, 60_000);

  test("keeps a peer that reads slowly", async () => {
    await using server = await startCluster({ PING_INTERVAL: "2" });
    const since = performance.now();
    const peer = await openRawPeer(server.url);
    peer.send(RESET, ...Array(40).fill(step(16)), { type: "close" });
    let bytes = 0;
    for await (const chunk of peer.socket as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      await sleep(15);
    }
    expect(bytes).toBeGreaterThan(40_000_000);
    // A peer that reads nothing for this long is closed.
    expect(performance.now() - since).toBeGreaterThan(6_000);
    await until(() => linesOf(server).some(({ reason }) => reason === "closed by the client"));
  }, 60_000);
});
