import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ScriptedPeer, startScriptedServer } from "../../../../../test-support/other-servers/scripted-server.js";
import { connect } from "../../connect.js";
import { type ConnectionError, RemoteError } from "../../errors.js";

const echo = async (peer: ScriptedPeer): Promise<void> => {
  for (;;) await peer.answer();
};

describe("a client's calls", () => {
  it("send the frames of the protocol and nothing more", async () => {
    await using server = await startScriptedServer(echo);
    await using env = await connect(server.url);
    const sent = async (call: Promise<{ observation: object }>) =>
      ((await call).observation as { frame: object }).frame;
    expect(await sent(env.reset())).toEqual({ type: "reset", data: {} });
    expect(await sent(env.reset({ seed: 1, episodeId: "e", split: "train", index: 0, level: 2 }))).toEqual({
      type: "reset",
      data: { seed: 1, episode_id: "e", split: "train", index: 0, level: 2 },
    });
    expect(await sent(env.step({ amount: 1 }))).toEqual({ type: "step", data: { amount: 1 } });
    expect(await sent(env.step({ amount: 1 }, { metadata: { why: "x" } }))).toEqual({
      type: "step",
      data: { amount: 1, metadata: { why: "x" } },
    });
  });

  it("are sent one at a time, in the order in which they were made", async () => {
    let inFlight = 0;
    let most = 0;
    await using server = await startScriptedServer(async (peer) => {
      peer.socket.on("message", () => (most = Math.max(most, ++inFlight)));
      for (;;) {
        const frame = await peer.receive();
        await sleep(5);
        inFlight--;
        peer.send({ type: "observation", data: { observation: { data: frame["data"] }, reward: 1, done: false } });
      }
    });
    await using env = await connect(server.url);
    const results = await Promise.all([1, 2, 3, 4].map((n) => env.step({ n })));
    expect(results.map((result) => result.observation["data"])).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
    expect(most).toBe(1);
  });

  it("continue in the same session after an error frame", async () => {
    await using server = await startScriptedServer(async (peer) => {
      await peer.receive();
      const errors = [{ type: "missing", loc: ["amount"], msg: "Field required", input: {} }];
      peer.send({ type: "error", data: { message: "Invalid message", code: "VALIDATION_ERROR", errors } });
      await echo(peer);
    });
    await using env = await connect(server.url);
    const error = await env.step({}).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RemoteError);
    expect(error).toMatchObject({ code: "VALIDATION_ERROR", wireCode: "VALIDATION_ERROR", message: "Invalid message" });
    expect((error as RemoteError).errors[0]?.loc).toEqual(["amount"]);
    expect((await env.step({})).outcome).toBe("ok");
    expect(server.opened).toBe(1);
  });

  it("keep the wire code of an error this package does not know", async () => {
    await using server = await startScriptedServer(async (peer) => {
      await peer.receive();
      peer.send({ type: "error", data: { message: "no", code: "OF_TOMORROW", left: 3 } });
    });
    await using env = await connect(server.url);
    await expect(env.reset()).rejects.toMatchObject({
      code: "PROTOCOL_ERROR",
      wireCode: "OF_TOMORROW",
      details: { left: 3 },
    });
  });
});

describe("a call that takes too long", () => {
  it("closes the socket, so that the late answer is never the answer to the next call", async () => {
    await using server = await startScriptedServer(async (peer, nth) => {
      if (nth > 1) return echo(peer);
      await peer.answer();
      await peer.receive();
      await sleep(60);
      peer.send({ type: "observation", data: { observation: { late: true }, reward: 99, done: false } });
    });
    await using env = await connect(server.url);
    await env.reset();
    await expect(env.step({ n: 1 }, { timeoutMs: 20 })).rejects.toMatchObject({
      code: "CLIENT_TIMEOUT",
      outcome: "lost",
    });
    expect(env.sessionLost).toBe(true);
    await expect(env.step({ n: 2 })).rejects.toMatchObject({ code: "SESSION_LOST" });
    await sleep(80);
    await expect(env.state()).rejects.toThrow(/No answer within 20 ms.*Call reset/);
    const fresh = await env.reset();
    expect(fresh.observation).toEqual({ frame: { type: "reset", data: {} } });
    expect((await env.step({ n: 3 })).observation).toEqual({ frame: { type: "step", data: { n: 3 } } });
    expect(server.opened).toBe(2);
  });

  it("makes the calls after it fail as lost, up to the next reset", async () => {
    await using server = await startScriptedServer((peer, nth) => (nth > 1 ? echo(peer) : undefined));
    await using env = await connect(server.url);
    const codes = await Promise.all(
      [env.step({}, { timeoutMs: 30 }), env.step({}), env.state(), env.reset(), env.step({})].map((call) =>
        call.then(
          () => "ok",
          (error: ConnectionError) => error.code,
        ),
      ),
    );
    expect(codes).toEqual(["CLIENT_TIMEOUT", "SESSION_LOST", "SESSION_LOST", "ok", "ok"]);
  });
});

describe("after a loss", () => {
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => "ok",
      (error: ConnectionError | RemoteError) => error.code,
    );

  it("calls are rejected until a reset succeeds, even if the server would answer them", async () => {
    const seen: unknown[] = [];
    const observation = { type: "observation", data: { observation: {}, reward: 1, done: false } };
    const failure = { type: "error", data: { message: "boom", code: "EXECUTION_ERROR" } };
    await using server = await startScriptedServer(async (peer, nth) => {
      if (nth === 1) {
        await peer.answer();
        return peer.socket.terminate();
      }
      for (let resets = 0; ; ) {
        const { type } = await peer.receive();
        seen.push(type);
        if (type !== "reset") peer.send(observation);
        // The second socket rejects one reset and does not answer the other; the third answers.
        else if (nth === 3) peer.send(observation);
        else if (++resets === 1) peer.send(failure);
      }
    });
    await using env = await connect(server.url);
    await env.reset();
    await expect.poll(() => env.sessionLost).toBe(true);
    expect(await codeOf(env.reset())).toBe("EXECUTION_ERROR");
    expect(env.sessionLost).toBe(true);
    expect(await codeOf(env.step({}))).toBe("SESSION_LOST");
    expect(await codeOf(env.state())).toBe("SESSION_LOST");
    expect(await codeOf(env.reset({}, { timeoutMs: 20 }))).toBe("CLIENT_TIMEOUT");
    expect(await codeOf(env.step({}))).toBe("SESSION_LOST");
    expect(await codeOf(env.reset())).toBe("ok");
    expect(env.sessionLost).toBe(false);
    expect(await codeOf(env.step({}))).toBe("ok");
    expect(seen).toEqual(["reset", "reset", "reset", "step"]);
    expect(server.opened).toBe(3);
  });
});

describe("an abort", () => {
  it("before the call is sent only cancels the call", async () => {
    const seen: unknown[] = [];
    await using server = await startScriptedServer(async (peer) => {
      for (;;) {
        seen.push((await peer.receive())["data"]);
        await sleep(20);
        peer.send({ type: "observation", data: { observation: {}, reward: 1, done: false } });
      }
    });
    await using env = await connect(server.url);
    const controller = new AbortController();
    const first = env.step({ n: 1 });
    const second = env.step({ n: 2 }, { signal: controller.signal });
    controller.abort();
    await expect(second).rejects.toMatchObject({ code: "ABORTED" });
    await expect(env.step({ n: 3 }, { signal: controller.signal })).rejects.toMatchObject({ code: "ABORTED" });
    expect((await first).reward).toBe(1);
    await env.step({ n: 4 });
    expect(seen).toEqual([{ n: 1 }, { n: 4 }]);
    expect(env.sessionLost).toBe(false);
  });

  it("in the same turn as the call cancels it, and the session continues", async () => {
    const seen: unknown[] = [];
    await using server = await startScriptedServer(async (peer) => {
      for (;;) {
        seen.push((await peer.receive())["type"]);
        peer.send({ type: "observation", data: { observation: {}, reward: 1, done: false } });
      }
    });
    await using env = await connect(server.url);
    await env.reset();
    const controller = new AbortController();
    const call = env.step({}, { signal: controller.signal });
    controller.abort(new Error("never mind"));
    await expect(call).rejects.toMatchObject({ code: "ABORTED", cause: { message: "never mind" } });
    expect(env.sessionLost).toBe(false);
    await env.reset();
    expect(seen).toEqual(["reset", "reset"]);
  });

  it("in the same turn as a reset that must connect cancels the reset at once", async () => {
    await using server = await startScriptedServer(async (peer) => {
      await peer.answer();
      peer.socket.terminate();
    });
    await using env = await connect(server.url);
    await env.reset();
    await expect.poll(() => env.sessionLost).toBe(true);
    const controller = new AbortController();
    const call = env.reset({}, { signal: controller.signal });
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    expect((await env.reset()).outcome).toBe("ok");
    expect(server.opened).toBe(2);
  });

  it("of a pending call loses the session", async () => {
    await using server = await startScriptedServer((peer, nth) => (nth > 1 ? echo(peer) : undefined));
    await using env = await connect(server.url);
    const controller = new AbortController();
    const call = env.reset({}, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 10);
    const error = (await call.catch((reason: unknown) => reason)) as ConnectionError;
    expect(error.code).toBe("ABORTED");
    expect(error.cause).toMatchObject({ message: "enough" });
    await expect(env.step({})).rejects.toMatchObject({ code: "SESSION_LOST" });
    expect((await env.reset()).outcome).toBe("ok");
  });
});

describe("close", () => {
  it("sends a close frame, closes the socket, and may be called again", async () => {
    let frames: unknown[] = [];
    let code = 0;
    await using server = await startScriptedServer(async (peer) => {
      frames = [await peer.receive()];
      code = await peer.closed;
    });
    const env = await connect(server.url);
    await Promise.all([env.close(), env.close()]);
    await env[Symbol.asyncDispose]();
    expect(frames).toEqual([{ type: "close" }]);
    await expect.poll(() => code).toBe(1000);
    await expect(env.reset()).rejects.toMatchObject({ code: "CLIENT_CLOSED" });
    await expect(env.step({})).rejects.toMatchObject({ code: "CLIENT_CLOSED" });
  });

  it("rejects the pending call and those that wait", async () => {
    await using server = await startScriptedServer(() => {});
    const env = await connect(server.url);
    const calls = [env.reset(), env.step({}), env.state()].map((call) =>
      call.catch((error: ConnectionError) => error.code),
    );
    await env.close();
    expect(await Promise.all(calls)).toEqual(["CLIENT_CLOSED", "CLIENT_CLOSED", "CLIENT_CLOSED"]);
  });

  it("cancels a reset that is connecting, and leaves no socket open", async () => {
    let closed = 0;
    await using server = await startScriptedServer(async (peer, nth) => {
      void peer.closed.then(() => closed++);
      await peer.answer();
      if (nth === 1) peer.socket.terminate();
    });
    const env = await connect(server.url);
    await env.reset();
    await expect.poll(() => env.sessionLost).toBe(true);
    const reset = env.reset().catch((error: ConnectionError) => error.code);
    await env.close();
    expect(await reset).toBe("CLIENT_CLOSED");
    await expect.poll(() => closed).toBe(server.opened);
  });

  it("is done by await using", async () => {
    let code = 0;
    await using server = await startScriptedServer(async (peer) => {
      code = await peer.closed;
    });
    {
      await using env = await connect(server.url);
      expect(env.url).toBe(server.url);
    }
    await expect.poll(() => code).toBe(1000);
  });
});
