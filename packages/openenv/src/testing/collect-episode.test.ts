import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { type ScriptedPeer, startScriptedServer } from "../../../../test-support/other-servers/scripted-server.js";
import { parseAddress } from "../client/transport/address.js";
import { collectEpisode } from "./collect-episode.js";

const PLAN = { reset: { seed: 1 }, actions: [{ amount: 1 }, { amount: 2 }] };
const observation = (more: object = {}) => ({
  type: "observation",
  data: { observation: {}, reward: 1, done: false, ...more },
});

async function collect(script: (peer: ScriptedPeer) => Promise<void>, limits: { episodeTimeoutMs?: number } = {}) {
  await using server = await startScriptedServer(script);
  return await collectEpisode(parseAddress(server.url), PLAN, { headers: {}, timeoutMs: 5_000, ...limits });
}

/** Answers every request; observations contain the fields of `more`. */
function answering(more: (step: number) => object) {
  return async (peer: ScriptedPeer): Promise<void> => {
    for (let step = 0; ; ) {
      const { type } = await peer.receive();
      peer.send(type === "state" ? { type: "state", data: {} } : observation(more(step++)));
    }
  };
}

describe("collectEpisode", () => {
  test("records all calls, and stops when the episode is done", async () => {
    const exchanges = await collect(answering((step) => ({ done: step === 1, more: step })));
    expect(exchanges.map(({ operation }) => operation)).toEqual(["reset", "state", "step", "state"]);
    expect(exchanges[2]).toEqual({
      operation: "step",
      request: { amount: 1 },
      data: { observation: {}, reward: 1, done: true, more: 1 },
    });
  });

  test("offers no compression", async () => {
    const offered: unknown[] = [];
    const answer = answering(() => ({}));
    await collect(async (peer) => {
      offered.push(peer.request.headers["sec-websocket-extensions"]);
      await answer(peer);
    });
    expect(offered).toEqual([undefined]);
  });

  test.each([
    ["a frame above 1 MiB", answering(() => ({ text: "x".repeat(1_100_000) })), /Max payload size exceeded/],
    [
      "an error frame",
      async (peer: ScriptedPeer) => peer.send({ type: "error", data: { code: "EXECUTION_ERROR", message: "no" } }),
      /reset on \/ws was answered with the error EXECUTION_ERROR: no/,
    ],
    ["a binary frame", async (peer: ScriptedPeer) => peer.socket.send(Buffer.from("{}")), /received a binary frame/],
    ["invalid JSON", async (peer: ScriptedPeer) => peer.send("hello"), /text that is not a JSON object: hello/],
    ["a list", async (peer: ScriptedPeer) => peer.send("[]"), /text that is not a JSON object/],
    [
      "data that is not an object",
      async (peer: ScriptedPeer) => peer.send({ type: "observation", data: 1 }),
      /not an object: 1/,
    ],
    ["a socket that closes", async (peer: ScriptedPeer) => peer.socket.close(1011), /closed with 1011/],
  ])("rejects %s", async (_, script, problem) => {
    await expect(collect(script as (peer: ScriptedPeer) => Promise<void>)).rejects.toThrow(problem);
  });

  test("reports an exception of the environment as such", async () => {
    const failing = async (peer: ScriptedPeer) =>
      peer.send({ type: "error", data: { code: "EXECUTION_ERROR", message: "no" } });
    const collecting = collect(failing as (peer: ScriptedPeer) => Promise<void>);
    await expect(collecting).rejects.toMatchObject({
      facts: { remedy: expect.stringMatching(/^The environment threw an exception/) },
    });
  });

  test("rejects an episode of more than 8 MiB, and one that takes too long", async () => {
    await using server = await startScriptedServer(answering(() => ({ text: "x".repeat(1_000_000) })));
    const actions = Array.from({ length: 10 }, () => ({}));
    const plan = { reset: {}, actions };
    const collecting = collectEpisode(parseAddress(server.url), plan, { headers: {}, timeoutMs: 5_000 });
    await expect(collecting).rejects.toThrow(/larger than 8388608 bytes/);
    await expect(collect(async () => {}, { episodeTimeoutMs: 100 })).rejects.toThrow(/longer than 100 ms/);
  });

  test("closes the connection to a server that does not answer the handshake in time", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    const connected = once(server, "connection") as Promise<[Socket]>;
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const limits = { headers: {}, timeoutMs: 600_000, episodeTimeoutMs: 100 };
    const collecting = collectEpisode(parseAddress(`http://127.0.0.1:${port}`), PLAN, limits);
    await expect(collecting).rejects.toThrow(/could not open/);
    const [socket] = await connected;
    socket.on("error", () => {}).resume();
    if (!socket.closed) await once(socket, "close");
    server.close();
  });
});
