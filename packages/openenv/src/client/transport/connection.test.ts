import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { type ScriptedPeer, startScriptedServer } from "../../../../../test-support/other-servers/scripted-server.js";
import { connect } from "../../connect.js";
import type { ConnectionError, RemoteError } from "../../errors.js";
import type { EnvClient } from "../env-client.js";

const echo = async (peer: ScriptedPeer): Promise<void> => {
  for (;;) await peer.answer();
};

describe("a session that ends", () => {
  it.each([
    [1000, "", "the server closed it (1000)"],
    [1009, "", "a frame was too large (1009)"],
    [1012, "", "the server is restarting (1012)"],
    [4000, "idle for 900 s", "the server ended the session (4000: idle for 900 s)"],
    [4999, "", "the server closed it (4999)"],
  ])("with close code %i is reported to the caller", async (code, reason, words) => {
    await using server = await startScriptedServer(async (peer) => {
      await peer.receive();
      peer.socket.close(code, reason);
    });
    await using env = await connect(server.url);
    const error = (await env.step({}).catch((cause: unknown) => cause)) as ConnectionError;
    expect(error.code).toBe("SESSION_LOST");
    expect(error.message).toContain(words);
  });

  it("by a broken connection rejects step and state, and reset starts a new one", async () => {
    await using server = await startScriptedServer(async (peer, nth) => {
      await peer.answer();
      if (nth === 1) peer.socket.terminate();
      else await echo(peer);
    });
    await using env = await connect(server.url);
    await env.reset();
    await expect.poll(() => env.sessionLost).toBe(true);
    await expect(env.step({})).rejects.toThrow("the connection broke (1006)");
    await expect(env.state()).rejects.toMatchObject({ code: "SESSION_LOST" });
    await env.reset();
    expect((await env.step({})).outcome).toBe("ok");
  });

  it("and cannot be replaced makes reset fail until the server is back", async () => {
    let url: string;
    let env: EnvClient;
    {
      await using server = await startScriptedServer(echo);
      ({ url } = server);
      env = await connect(url, { check: false });
      await env.reset();
    }
    await expect(env.reset()).rejects.toMatchObject({ outcome: "lost" });
    await expect(env.reset()).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    await expect(env.step({})).rejects.toMatchObject({ code: "SESSION_LOST" });
    await env.close();
  });
});

describe("a rejection right after the handshake", () => {
  const refusal = {
    type: "error",
    data: { message: "full", code: "CAPACITY_REACHED", active_sessions: 2, max_sessions: 2 },
  };

  it("is the answer to the first call, even if the socket was closed long before", async () => {
    let closed = 0;
    await using server = await startScriptedServer(async (peer, nth) => {
      if (nth > 1) return echo(peer);
      peer.send(refusal);
      peer.socket.close(1000);
      closed = await peer.closed;
    });
    await using env = await connect(server.url);
    await expect.poll(() => closed).toBeGreaterThan(0);
    const error = (await env.reset().catch((reason: unknown) => reason)) as RemoteError;
    expect(error).toMatchObject({ code: "CAPACITY_REACHED", details: { active_sessions: 2, max_sessions: 2 } });
    await expect(env.step({})).rejects.toThrow(/ended it with CAPACITY_REACHED/);
    expect((await env.reset()).outcome).toBe("ok");
  });

  it("that crosses a reset is the answer to that reset, and the next reset tries again", async () => {
    await using server = await startScriptedServer(async (peer, nth) => {
      if (nth > 2) return echo(peer);
      await peer.receive();
      peer.send(refusal);
      peer.socket.close(1000);
    });
    await using env = await connect(server.url);
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(env.reset()).rejects.toMatchObject({ code: "CAPACITY_REACHED" });
    }
    expect((await env.reset()).outcome).toBe("ok");
    expect(server.opened).toBe(3);
  });
});

describe("an answer that violates the protocol", () => {
  it.each<[string, unknown]>([
    ["text that is not JSON", "hello"],
    ["a list", "[1]"],
    ["no type", { data: {} }],
    ["no data", { type: "observation" }],
    ["the answer to another request", { type: "state", data: { step_count: 1 } }],
    ["an unknown type", { type: "welcome", data: {} }],
    ["100,000 levels", `{"type":"observation","data":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
  ])("is a PROTOCOL_ERROR and ends the session: %s", async (_, frame) => {
    await using server = await startScriptedServer(async (peer, nth) => {
      if (nth > 1) return echo(peer);
      await peer.receive();
      peer.send(frame);
    });
    await using env = await connect(server.url);
    await expect(env.reset()).rejects.toMatchObject({ code: "PROTOCOL_ERROR", outcome: "lost" });
    await expect(env.step({})).rejects.toMatchObject({ code: "SESSION_LOST" });
    expect((await env.reset()).outcome).toBe("ok");
  });

  it.each<[string, object]>([
    ["observation", { reward: 1, done: false }],
    ["observation", { observation: [], reward: 1, done: false }],
    ["done", { observation: {}, reward: 1 }],
    ["reward", { observation: {}, reward: "1", done: false }],
  ])("is a PROTOCOL_ERROR that names the member %s", async (field, data) => {
    await using server = await startScriptedServer(async (peer) => {
      await peer.receive();
      peer.send({ type: "observation", data });
    });
    await using env = await connect(server.url);
    const error = (await env.step({}).catch((reason: unknown) => reason)) as ConnectionError;
    expect(error.code).toBe("PROTOCOL_ERROR");
    expect(error.message).toContain(`"${field}"`);
  });

  it("without a request fails the next call instead of answering it", async () => {
    await using server = await startScriptedServer(async (peer, nth) => {
      if (nth > 1) return echo(peer);
      await peer.receive();
      // Both in one segment, so that the second arrives before the client continues.
      const { _socket: socket } = peer.socket as unknown as { _socket: Socket };
      socket.cork();
      peer.send({ type: "observation", data: { observation: {}, reward: null, done: false } });
      peer.send({ type: "observation", data: { observation: {}, reward: 99, done: true } });
      socket.uncork();
      await peer.answer();
    });
    await using env = await connect(server.url);
    await env.reset();
    await expect(env.step({})).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
    expect((await env.reset()).reward).toBe(null);
  });
});

describe("a value that cannot be encoded", () => {
  it.each<[string, unknown]>([
    ["a bigint", 1n],
    ["a lone surrogate", "\ud800"],
  ])("is rejected before anything is sent: %s", async (_, value) => {
    await using server = await startScriptedServer(echo);
    await using env = await connect(server.url);
    await expect(env.step({ value })).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
    expect((await env.step({ n: 1 })).observation).toEqual({ frame: { type: "step", data: { n: 1 } } });
  });
});
