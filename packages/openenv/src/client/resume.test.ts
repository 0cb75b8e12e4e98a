import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { counterContract, defineCounter } from "../../../../test-support/environments/counter.js";
import { startScriptedServer } from "../../../../test-support/other-servers/scripted-server.js";
import { startGateway } from "../../../../test-support/proxies/gateway.js";
import { useServers, waitFor } from "../../../../test-support/servers/servers.js";
import { connect } from "../connect.js";
import type { ConnectionError } from "../errors.js";
import { bytes, defineContract, defineEnvironment } from "../index.js";
import type { Recovery } from "./options.js";
import { connectVector } from "./vector/connect-vector.js";

const servers = useServers();
const observed = () => ({ type: "observation", data: { observation: { metadata: {} }, reward: null, done: false } });

describe("a client with resume", () => {
  it("continues its episode after the connection is cut between two calls", async () => {
    const server = await servers.start();
    await using gateway = await startGateway(server, "passes");
    const recoveries: Recovery[] = [];
    const resume = { onRecovered: (recovery: Recovery) => void recoveries.push(recovery) };
    await using env = await connect(gateway.url, counterContract, { resume });
    await env.reset();
    expect((await env.step({ amount: 1 })).recovered).toBeUndefined();
    gateway.cut();
    const result = await env.step({ amount: 2 });
    expect(result).toMatchObject({ observation: { count: 3 }, recovered: true });
    expect(recoveries).toEqual([{ attempts: expect.any(Number), downMs: expect.any(Number) }]);
    const state = await env.state();
    expect(state).toMatchObject({ step_count: 2, total: 3 });
    gateway.cut();
    expect(await env.state()).toEqual(state);
  });

  it("executes each step once, however often the connection is cut", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    await using gateway = await startGateway(server, "passes");
    await using env = await connect(gateway.url, counterContract, { resume: true });
    await env.reset();
    let cuts = 0;
    const counts: number[] = [];
    for (let i = 1; i <= 100; i++) {
      const amount = i % 10 === 0 ? 50 : 1;
      const call = env.step({ amount });
      // At different moments: before the frame leaves, while the step runs, and while the answer is on its way.
      if (i % 5 === 0) {
        for (let turns = cuts % 4; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
        gateway.cut();
        cuts++;
      }
      counts.push((await call).observation.count);
    }
    let sum = 0;
    expect(counts).toEqual(counts.map((_count, i) => (sum += (i + 1) % 10 === 0 ? 50 : 1)));
    expect(cuts).toBe(20);
    expect(counter.log).toMatchObject({ created: 1, begun: 10 });
    expect(await env.state()).toMatchObject({ step_count: 100 });
  });

  it("waits for a server that cannot be reached, within the time limit of the call", async () => {
    const server = await servers.start();
    await using gateway = await startGateway(server, "passes");
    await using env = await connect(gateway.url, counterContract, { resume: true });
    await env.reset();
    gateway.turn("refuses");
    gateway.cut();
    const step = env.step({ amount: 4 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    gateway.turn("passes");
    expect(await step).toMatchObject({ observation: { count: 4 }, recovered: true });
    gateway.turn("refuses");
    gateway.cut();
    await expect(env.step({ amount: 1 }, { timeoutMs: 300 })).rejects.toMatchObject({ code: "CLIENT_TIMEOUT" });
    expect(env.sessionLost).toBe(true);
  });

  it("waits as long when the clock of its machine jumps", async () => {
    const server = await servers.start();
    await using gateway = await startGateway(server, "passes");
    await using env = await connect(gateway.url, counterContract, { resume: true });
    await env.reset();
    const clock = vi.spyOn(Date, "now");
    try {
      for (const year of [2100, 2000]) {
        const before = gateway.connections;
        gateway.turn("refuses");
        gateway.cut();
        const step = env.step({ amount: 1 });
        await waitFor(() => gateway.connections > before);
        clock.mockReturnValue(Date.UTC(year));
        const tries = gateway.connections;
        await waitFor(() => gateway.connections > tries);
        gateway.turn("passes");
        expect(await step).toMatchObject({ recovered: true });
      }
    } finally {
      clock.mockRestore();
    }
    expect((await env.step({ amount: 1 })).observation.count).toBe(3);
  });

  it("waits longer after each connection that fails", async () => {
    const server = await servers.start();
    await using gateway = await startGateway(server, "passes");
    await using env = await connect(gateway.url, counterContract, { resume: true });
    await env.reset();
    const before = gateway.connections;
    gateway.turn("refuses");
    gateway.cut();
    await expect(env.step({ amount: 1 }, { timeoutMs: 5_000 })).rejects.toMatchObject({ code: "CLIENT_TIMEOUT" });
    // The waits are at least 25, 50, 100, 200, 400, 800 and 1,600 ms.
    expect(gateway.connections - before).toBeGreaterThan(1);
    expect(gateway.connections - before).toBeLessThanOrEqual(10);
  });

  it("loses the session with the reason when the server has ended it", async () => {
    const first = await servers.start();
    await using gateway = await startGateway(first, "passes");
    await using env = await connect(gateway.url, counterContract, { resume: true });
    await env.reset();
    const second = await servers.start();
    gateway.turn("passes", second);
    gateway.cut();
    const error = (await env.step({ amount: 1 }).catch((cause: unknown) => cause)) as ConnectionError;
    expect(error).toMatchObject({ code: "SESSION_LOST", outcome: "lost" });
    expect(error.message).toContain("it cannot be resumed, because the server does not know the session");
    expect((await env.reset()).observation.count).toBe(0);
    expect((await env.step({ amount: 1 })).observation.count).toBe(1);
  });

  it("ends its session when it is closed, also after a cut and during a step", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    await using gateway = await startGateway(server, "passes");
    const idle = await connect(gateway.url, counterContract, { resume: true });
    await idle.reset();
    gateway.cut();
    await idle.close();
    await waitFor(() => counter.log.closed === 1);
    const busy = await connect(gateway.url, counterContract, { resume: true });
    await busy.reset();
    const step = busy.step({ amount: 60 }).catch((cause: unknown) => cause);
    await waitFor(() => counter.log.begun === 1);
    await busy.close();
    expect(await step).toMatchObject({ code: "CLIENT_CLOSED" });
    await waitFor(() => counter.log.closed === 2);
  });

  it("says that a server cannot resume sessions", async () => {
    await using server = await startScriptedServer(async (peer) => {
      await peer.receive();
      peer.send({ type: "error", data: { message: "Unknown message type", code: "UNKNOWN_TYPE" } });
    });
    await using env = await connect(server.url, { resume: true });
    await expect(env.reset()).rejects.toThrow("The server cannot resume sessions");
  });

  it("ends its session on the server after an answer that violates the protocol", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    await using relay = await startScriptedServer(async (peer) => {
      const onward = await servers.open(server, String(peer.request.url));
      peer.socket.on("close", () => onward.ws.close());
      for (;;) {
        const frame = await peer.receive();
        onward.send(frame);
        if (frame["type"] === "close") continue;
        const answer = await onward.receive();
        peer.send(frame["type"] === "step" ? { type: "dance", data: {} } : answer);
      }
    });
    const env = await connect(relay.url, { resume: true, check: false });
    await env.reset();
    await expect(env.step({ amount: 1 })).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
    expect(env.sessionLost).toBe(true);
    await env.close();
    await waitFor(() => counter.log.closed === 1);
    expect(server.capacity().active_sessions).toBe(0);
  });

  it("loses the session when the server has lost requests that were answered", async () => {
    await using server = await startScriptedServer(async (peer, nth) => {
      await peer.receive();
      const lastSeq = nth === 1 ? 0 : 1;
      peer.send({ type: "resumed", data: { session_id: "s", recovered: nth > 1, last_seq: lastSeq, window_s: 60 } });
      for (;;) {
        const frame = await peer.receive();
        if (frame["seq"] === 3 && nth === 1) return peer.socket.terminate();
        peer.send({ ...observed(), seq: frame["seq"] });
      }
    });
    await using env = await connect(server.url, { resume: true, check: false });
    await env.reset();
    await env.step({});
    const error = await env.step({}).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "SESSION_LOST", message: expect.stringContaining("answered requests") });
    expect(env.sessionLost).toBe(true);
  });

  it.each([
    ["a connection that violates the protocol", { type: "dance", data: {} }, () => {}, "PROTOCOL_ERROR"],
    [
      "onRecovered that throws",
      { type: "resumed", data: { session_id: "s", recovered: true, last_seq: 1, window_s: 60 } },
      () => {
        throw new Error("of the caller");
      },
      undefined,
    ],
  ])("loses the session after %s", async (_what, back, onRecovered, code) => {
    await using server = await startScriptedServer(async (peer, nth) => {
      await peer.receive();
      peer.send(nth === 2 ? back : { type: "resumed", data: { session_id: "s", recovered: false, last_seq: 0 } });
      for (;;) {
        const frame = await peer.receive();
        if (frame["seq"] === 2 && nth === 1) return peer.socket.terminate();
        peer.send({ ...observed(), seq: frame["seq"] });
      }
    });
    await using env = await connect(server.url, { resume: { onRecovered }, check: false });
    await env.reset();
    const error = await env.step({}).catch((cause: unknown) => cause);
    if (code) expect(error).toMatchObject({ code });
    else expect(error).toMatchObject({ message: "of the caller" });
    expect(env.sessionLost).toBe(true);
  });

  it("closes each connection to a server that cannot resume the session yet", async () => {
    const codes: Promise<number>[] = [];
    const busy = { type: "error", data: { code: "SESSION_ELSEWHERE", message: "another server has it" } };
    await using server = await startScriptedServer(async (peer, nth) => {
      codes.push(peer.closed);
      await peer.receive();
      const resumed = { session_id: "s", recovered: nth > 1, last_seq: 1, window_s: 60 };
      peer.send(nth === 2 || nth === 3 ? busy : { type: "resumed", data: resumed });
      for (;;) {
        const { seq } = await peer.receive();
        if (seq === 2 && nth === 1) return peer.socket.terminate();
        peer.send({ ...observed(), seq });
      }
    });
    await using env = await connect(server.url, { resume: true, check: false });
    await env.reset();
    expect(await env.step({})).toMatchObject({ recovered: true });
    expect(await Promise.all(codes.slice(1, 3))).toEqual([1000, 1000]);
  });

  it("gives the slot back whose first answer was lost", async () => {
    const counter = defineCounter();
    const server = await servers.start({ maxConcurrentEnvs: 1 }, counter);
    await using gateway = await startGateway(server, "passes");
    await using env = await connect(gateway.url, counterContract, { resume: true });
    gateway.cutAtAnswer();
    const { observation, recovered } = await env.reset();
    expect([observation.count, recovered]).toEqual([0, undefined]);
    expect(counter.log).toMatchObject({ created: 2, closed: 1 });
  });

  it("gives the slot back when it is closed before the first answer", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    await using gateway = await startGateway(server, "passes");
    const env = await connect(gateway.url, { resume: true });
    gateway.turn("is silent");
    gateway.cutAtAnswer();
    const reset = env.reset().catch((cause: unknown) => cause);
    await waitFor(() => gateway.held.size === 1);
    const closed = env.close();
    gateway.turn("passes");
    await closed;
    expect(await reset).toMatchObject({ code: "CLIENT_CLOSED" });
    await waitFor(() => counter.log.closed === counter.log.created);
  });

  it("opens no session when it is closed while it connects again", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    await using gateway = await startGateway(server, "passes");
    const env = await connect(gateway.url, { resume: true });
    gateway.turn("is silent");
    gateway.cut();
    await waitFor(() => counter.log.closed === 1);
    const state = env.state().catch((cause: unknown) => cause);
    await waitFor(() => gateway.held.size === 1);
    await env.close();
    gateway.turn("passes");
    expect(await state).toMatchObject({ code: "CLIENT_CLOSED" });
    await waitFor(() => counter.log.closed === 2);
  });

  it("continues after a step that cannot be written", async () => {
    const server = await servers.start();
    await using env = await connect(server.url, { resume: true, check: false });
    await env.reset();
    await expect(env.step({ amount: 1n })).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
    expect((await env.step({ amount: 1 })).observation["count"]).toBe(1);
  });

  it("continues after a step that the server cannot read", async () => {
    const server = await servers.start({ maxMessageItems: 1000 });
    await using env = await connect(server.url, { resume: true, check: false });
    await env.reset();
    const values = Array.from({ length: 2000 }, () => 1);
    await expect(env.step({ amount: 1, values })).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
    expect((await env.step({ amount: 1 })).observation["count"]).toBe(1);
  });

  it("repeats a step with bytes as a binary frame", async () => {
    const contract = defineContract({
      name: "bytes_env",
      action: z.object({ raw: bytes() }),
      observation: z.object({ length: z.int(), steps: z.int() }),
    });
    let begun = 0;
    const environment = defineEnvironment(contract, () => {
      let steps = 0;
      return {
        reset: () => ({ observation: { length: 0, steps } }),
        step: async ({ raw }) => {
          begun++;
          await new Promise((resolve) => setTimeout(resolve, 50));
          return { observation: { length: raw.length, steps: ++steps } };
        },
      };
    });
    const server = await servers.start({}, { environment });
    await using gateway = await startGateway(server, "passes");
    await using env = await connect(gateway.url, contract, { resume: true, binary: true });
    await env.reset();
    const step = env.step({ raw: new Uint8Array(3) });
    await waitFor(() => begun === 1);
    gateway.cut();
    expect(await step).toMatchObject({ observation: { length: 3, steps: 1 }, recovered: true });
    expect(begun).toBe(1);
  });

  it("recovers after the signal of connect was aborted, which only ends the connecting", async () => {
    const server = await servers.start();
    await using gateway = await startGateway(server, "passes");
    const connecting = new AbortController();
    await using env = await connect(gateway.url, { resume: true, signal: connecting.signal });
    await env.reset();
    connecting.abort();
    gateway.cut();
    expect(await env.step({ amount: 2 })).toMatchObject({ observation: { count: 2 }, recovered: true });
  });

  it("loses the session with a frame that is too large, at once", async () => {
    const server = await servers.start({ maxMessageBytes: 2_000 });
    await using env = await connect(server.url, { resume: true, check: false });
    await env.reset();
    await expect(env.step({ amount: 1, note: "x".repeat(3_000) })).rejects.toThrow("a frame was too large");
    expect((await env.reset()).observation["count"]).toBe(0);
  });

  it("gets the only slot of a server back with a reset after a call that took too long", async () => {
    const server = await servers.start({ maxConcurrentEnvs: 1 });
    await using env = await connect(server.url, { resume: true });
    await env.reset();
    await expect(env.step({ amount: 60 }, { timeoutMs: 200 })).rejects.toMatchObject({ code: "CLIENT_TIMEOUT" });
    expect((await env.reset()).observation["count"]).toBe(0);
  });

  it("starts an episode with the first reset after its server was replaced", async () => {
    const first = await servers.start();
    await using gateway = await startGateway(first, "passes");
    await using env = await connect(gateway.url, { resume: true });
    await env.reset();
    gateway.turn("passes", await servers.start());
    gateway.cut();
    expect((await env.reset()).observation["count"]).toBe(0);
  });
});

describe("a vector environment with resume", () => {
  it.each([false, true])(
    "loses no session and no step when connections are cut (own sockets: %s)",
    async (ownSockets) => {
      const counter = defineCounter();
      const server = await servers.start({}, counter);
      await using gateway = await startGateway(server, "passes");
      await using envs = await connectVector(gateway.url, counterContract, { size: 8, resume: true, ownSockets });
      await envs.reset();
      for (let i = 1; i <= 20; i++) {
        const step = envs.step(Array.from({ length: 8 }, () => ({ amount: i % 5 === 0 ? 50 : 1 })));
        if (i % 4 === 0) gateway.cut();
        const results = await step;
        const seen = results.map((result) => [result?.outcome === "lost", result?.reopened, result?.recovered]);
        expect(seen).toEqual(results.map(() => [false, false, i % 4 === 0 ? true : undefined]));
      }
      const states = await envs.state();
      gateway.cut();
      expect(await envs.state()).toEqual(states);
      expect(states.map((state) => ("step_count" in state ? state.step_count : state))).toEqual(states.map(() => 20));
      expect(counter.log).toMatchObject({ created: 8, begun: 32 });
      expect(envs.recoveries()).toEqual({ connections: ownSockets ? 48 : 6, sessions: 48 });
    },
  );
});
