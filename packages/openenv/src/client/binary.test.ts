import { describe, expect, test } from "vitest";
import * as z from "zod";
import { startScriptedServer } from "../../../../test-support/other-servers/scripted-server.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { bytes, defineContract, defineEnvironment } from "../index.js";
import { loadBinary } from "../protocol/codec/binary.js";
import { connect, connectVector } from "./index.js";

const { start } = useServers();

const blobs = defineContract({
  name: "blob_env",
  action: z.object({ blob: bytes(), note: z.string().default("") }),
  observation: z.object({ blob: bytes(), floats: z.array(z.number().nullable()), note: z.string() }),
});
const environment = defineEnvironment(blobs, () => ({
  reset: () => ({ observation: { blob: new Uint8Array([0]), floats: [], note: "" } }),
  step: ({ blob, note }) => ({
    observation: { blob: blob.slice().reverse(), floats: [0.1, 2, Number.NaN], note },
    reward: 1,
  }),
}));
const startBlobs = () => start({}, { environment } as never);

describe("a client that requests binary frames", () => {
  test.each([true, false])("gets the same values with and without them (binary: %s)", async (binary) => {
    const server = await startBlobs();
    await using env = await connect(server.url, blobs, { binary });
    const first = await env.reset();
    expect([...first.observation.blob]).toEqual([0]);
    for (const note of ["", "é🎲", "x".repeat(100_000)]) {
      const { observation, reward } = await env.step({ blob: new Uint8Array([1, 2, 3]), note });
      expect([...observation.blob]).toEqual([3, 2, 1]);
      expect(observation.blob.toJSON()).toBe("AwIB");
      expect({ ...observation, blob: null, reward }).toEqual({ blob: null, floats: [0.1, 2, null], note, reward: 1 });
    }
    expect(await env.tryStep({ blob: "no base64" })).toMatchObject({
      outcome: "env_error",
      error: { code: "VALIDATION_ERROR" },
    });
    expect(await env.state()).toMatchObject({ step_count: 3 });
  });

  test("sends bytes as bytes, after the confirmation and not before", async () => {
    const codec = await loadBinary();
    const seen: (string | Record<string, unknown>)[] = [];
    await using server = await startScriptedServer((peer) => {
      peer.socket.on("message", (data: Buffer, isBinary: boolean) => {
        seen.push(isBinary ? (codec.decode(data).value as Record<string, unknown>) : String(data));
        const answer = {
          type: "observation",
          data: { observation: { blob: new Uint8Array([7]), floats: [], note: "" }, reward: 1, done: false },
        };
        if (isBinary) return peer.socket.send(codec.encode(answer));
        const observation = { ...answer.data.observation, blob: "Bw==" };
        peer.send({ ...answer, data: { ...answer.data, observation }, openenv: { extensions: ["binary"] } });
      });
    });
    await using env = await connect(server.url, blobs, { binary: true, check: false });
    expect([...(await env.step({ blob: new Uint8Array([1, 2]) })).observation.blob]).toEqual([7]);
    expect([...(await env.step({ blob: new Uint8Array([1, 2]) })).observation.blob]).toEqual([7]);
    expect(seen[0]).toBe('{"type":"step","data":{"blob":"AQI="}}');
    expect(seen[1]).toMatchObject({ type: "step" });
    const { blob } = (seen[1] as { data: { blob: Uint8Array } }).data;
    expect([...blob]).toEqual([1, 2]);
  });

  test("uses JSON if the server does not confirm", async () => {
    await using server = await startScriptedServer(async (peer) => {
      for (;;) await peer.answer({ reward: 2 });
    });
    await using env = await connect(server.url, { binary: true, check: false });
    await env.reset();
    expect((await env.step({ amount: 1 })).reward).toBe(2);
  });

  test("ends the session after an invalid or an unexpected binary frame", async () => {
    for (const [confirmed, frame] of [
      [true, Buffer.from([0xc1])],
      [false, Buffer.from([0x80])],
    ] as const) {
      await using server = await startScriptedServer(async (peer) => {
        const observation = { type: "observation", data: { observation: {}, reward: 1, done: false } };
        await peer.receive();
        peer.send(confirmed ? { ...observation, openenv: { extensions: ["binary"] } } : observation);
        peer.socket.once("message", () => peer.socket.send(frame));
      });
      await using env = await connect(server.url, { binary: true, check: false });
      await env.reset();
      await expect(env.step({})).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
      expect(env.sessionLost).toBe(true);
    }
  });

  test("takes raw bytes in many sessions at once", async () => {
    const server = await startBlobs();
    await using envs = await connectVector(server.url, blobs, { size: 3, binary: true });
    await envs.reset();
    const results = await envs.step([{ blob: new Uint8Array([1, 2]) }, null, { blob: "AwQ=" }]);
    expect(results.map((result) => (result?.observation ? [...result.observation.blob] : null))).toEqual([
      [2, 1],
      null,
      [4, 3],
    ]);
  });
});
