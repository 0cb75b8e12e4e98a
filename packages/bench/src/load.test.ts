import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { type ScriptedPeer, startScriptedServer } from "../../../test-support/other-servers/scripted-server.js";
import { serve } from "../../openenv/src/server/index.js";
import { createLoad, runSessions, type Workload } from "./load.js";

const counting: Workload = {
  actions: () => [{ amount: 1 }, { amount: 2 }],
  check: ({ reward }, { amount }) => (reward === amount ? undefined : `reward ${reward}`),
};
const echoing: Workload = {
  actions: (connection) => [{ amount: connection }],
  check: ({ observation }, action) => {
    const { frame } = observation as { frame?: { data: object } };
    return JSON.stringify(frame?.data) === JSON.stringify(action) ? undefined : "not the echo";
  },
};
const single = { connections: 1, workload: echoing };

describe("a load", () => {
  it("steps its sessions and counts every response", async () => {
    await using server = await serve(defineCounter().environment, { port: 0, logLevel: "silent" });
    await using load = await createLoad({ url: server.url, connections: 3, workload: counting });
    const { done } = await load.step(0.2);
    const { done: more } = await load.step(0.1);
    const steps = (await server.sessions()).map((session) => session.step_count);
    expect(steps).toHaveLength(3);
    expect(Math.min(...steps)).toBeGreaterThan(0);
    expect(steps.reduce((sum, count) => sum + count)).toBe(done + more);
  });

  it("with a think time pauses before each step, resets at the end of an episode, and ends during a pause", async () => {
    const ends = { observation: { frame: { type: "step", data: { amount: 0 } } }, reward: null, done: true };
    const types: unknown[] = [];
    await using server = await startScriptedServer(async (peer) => {
      for (;;) {
        const { type } = (await peer.receive()) as { type: unknown };
        types.push(type);
        if (type === "close") return;
        peer.send({ type: "observation", data: ends });
      }
    });
    await using load = await createLoad({ url: server.url, ...single });
    const { done } = await load.step(0.5, 50);
    expect(done).toBeGreaterThan(0);
    expect(done).toBeLessThanOrEqual(0.5 / 0.025 + 1);
    expect(types).toEqual(["reset", ...Array.from({ length: done }, () => ["step", "reset"]).flat()]);
    expect(await load.step(0.05, 1_000_000_000)).toMatchObject({ done: 0 });
  });

  it("plays whole sessions and leaves none behind", async () => {
    const counter = defineCounter();
    await using server = await serve(counter.environment, { port: 0, logLevel: "silent" });
    const { done } = await runSessions({ url: server.url, connections: 4, workload: counting }, 0.2);
    expect(done).toBeGreaterThanOrEqual(4);
    await expect.poll(() => counter.log, { timeout: 10_000 }).toMatchObject({ created: done, closed: done });
    await expect.poll(() => server.sessions(), { timeout: 10_000 }).toEqual([]);
  });

  it("reads responses of every size", async () => {
    await using server = await startScriptedServer(async (peer) => {
      for (;;) await peer.answer();
    });
    for (const length of [1, 200, 70_000, 1_000_000]) {
      const workload = { ...echoing, actions: () => [{ text: "x".repeat(length) }] };
      await using load = await createLoad({ url: server.url, connections: 1, workload });
      expect((await load.step(0.01)).done).toBeGreaterThan(0);
    }
  });

  const refuse = async (peer: ScriptedPeer): Promise<void> => {
    peer.send({ type: "error", data: { code: "CAPACITY_REACHED", message: "full" } });
    peer.socket.close();
  };
  it("fails when the server rejects a session", async () => {
    await using server = await startScriptedServer(refuse);
    await expect(createLoad({ url: server.url, ...single })).rejects.toThrow(/CAPACITY_REACHED|unexpected message/);
  });

  const failing: [string, (peer: ScriptedPeer) => Promise<void> | void, RegExp][] = [
    ["a response of another type", (peer) => peer.send({ type: "state", data: {} }), /not an observation/],
    ["a response to another request", (peer) => peer.send(answerOf({ amount: 7 })), /not the echo/],
    ["a response that is not JSON", (peer) => peer.send("{"), /JSON/],
    ["a session that is closed", (peer) => peer.socket.close(4000), /4000/],
    ["a connection that breaks", (peer) => peer.socket.terminate(), /closed the connection|ECONNRESET/],
  ];
  it.each(failing)("fails for %s, also after correct ones", async (_what, misbehave, reason) => {
    await using server = await startScriptedServer(async (peer) => {
      for (let right = 0; right < 5; right++) await peer.answer();
      await peer.receive();
      await misbehave(peer);
    });
    const load = await createLoad({ url: server.url, ...single });
    await expect(load.step(5)).rejects.toThrow(reason);
    await load.close();
  });

  it("fails for an error frame with its code", async () => {
    await using server = await startScriptedServer(async (peer) => {
      await peer.receive();
      peer.send({ type: "error", data: { code: "EXECUTION_ERROR", message: "no" } });
    });
    await expect(createLoad({ url: server.url, ...single })).rejects.toMatchObject({ type: "EXECUTION_ERROR" });
  });

  it("reports the response of a server without WebSocket", async () => {
    const server = createServer((_request, response) => response.writeHead(404).end());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    try {
      await expect(createLoad({ url: `http://127.0.0.1:${port}`, ...single })).rejects.toThrow("HTTP/1.1 404");
    } finally {
      server.close();
    }
  });
});

function answerOf(data: object): object {
  return { type: "observation", data: { observation: { frame: { type: "step", data } }, reward: null, done: false } };
}
