import { describe, expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { openBinarySocket } from "../../../../../test-support/sockets/binary-socket.js";
import { bytes, defineContract, defineEnvironment, image } from "../../index.js";

const { start } = useServers();

const blobs = defineContract({
  name: "blob_env",
  action: z.object({
    blob: bytes().optional(),
    picture: image().optional(),
    nested: z.object({ blob: bytes() }).optional(),
    open: z.unknown().optional(),
    amount: z.number().optional(),
  }),
  observation: z.object({ blob: bytes(), kinds: z.array(z.string()), open: z.unknown().optional() }),
});
/** Returns the kind of value of each field of the action, and the blob, reversed. */
const blobEnvironment = defineEnvironment(blobs, () => ({
  reset: () => ({ observation: { blob: new Uint8Array(), kinds: [] } }),
  step: (action) => ({
    observation: {
      blob: (action.blob ?? new Uint8Array()).slice().reverse(),
      kinds: Object.entries(action).map(
        ([key, value]) => `${key}:${value instanceof Uint8Array ? "bytes" : typeof value}`,
      ),
      open: action.open,
    },
    reward: action.amount ?? null,
  }),
}));

async function openConfirmed(url: string, query = "openenv=binary") {
  const socket = await openBinarySocket(`${url}/ws?${query}`);
  const first = await socket.ask('{"type":"reset","data":{}}');
  return { socket, first };
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

describe("the extension binary", () => {
  test("is confirmed in the first answer, then each frame is answered in its own format", async () => {
    const server = await start();
    const { socket, first } = await openConfirmed(server.url);
    await using _end = socket;
    expect(first).toMatchObject({ binary: false, frame: { openenv: { extensions: ["binary"] } } });
    const packed = await socket.askPacked({ type: "step", data: { amount: 3 } });
    expect(packed).toEqual({
      type: "observation",
      data: { observation: { count: 3, metadata: {} }, reward: 3, done: false },
    });
    const text = await socket.ask('{"type":"step","data":{"amount":3}}');
    expect(text).toMatchObject({ binary: false, frame: { data: { reward: 3 } } });
    expect(await socket.askPacked({ type: "state" })).toMatchObject({ type: "state", data: { step_count: 2 } });
  });

  test("is off for a client that did not request it, and before it is confirmed", async () => {
    const server = await start();
    for (const query of ["", "?openenv=warnings", "?openenv=binary"]) {
      await using socket = await openBinarySocket(`${server.url}/ws${query}`);
      const answer = await socket.ask(hex("81 a4 74797065 a5 7374617465"));
      expect(answer.binary).toBe(false);
      expect(answer.frame).toMatchObject({
        type: "error",
        data: { code: "VALIDATION_ERROR", errors: [{ type: "string_type" }] },
      });
      if (query === "?openenv=binary") expect(answer.frame["openenv"]).toEqual({ extensions: ["binary"] });
    }
  });

  test("a binary close ends the session", async () => {
    const server = await start();
    const { socket } = await openConfirmed(server.url);
    void socket.askPacked({ type: "close" }).catch(() => {});
    expect(await socket.closed).toBe(1000);
    expect(server.capacity().active_sessions).toBe(0);
  });

  test("validates like JSON, and reports the same codes", async () => {
    const server = await start();
    const { socket } = await openConfirmed(server.url);
    await using _end = socket;
    for (const message of [
      { type: "step", data: { amount: "many" } },
      { type: "step", data: { amount: 1.5 } },
      { type: "step" },
      { type: "jump", data: {} },
      { type: "step", data: { amount: 1 }, extra: 1 },
      { type: "step", data: { amount: 2 ** 63 } },
      [1, 2],
      null,
      "text",
      { type: "reset", data: { seed: -1 } },
      { type: "step", data: { amount: 13 } },
    ]) {
      const { frame } = await socket.ask(JSON.stringify(message));
      expect(await socket.askPacked(message)).toEqual(frame);
    }
  });

  test("garbage is answered with an error, and the session continues", async () => {
    const server = await start();
    const { socket } = await openConfirmed(server.url);
    await using _end = socket;
    const nested = (levels: number): Buffer => Buffer.concat([Buffer.alloc(levels, 0x91), hex("01")]);
    const bad: [string, Buffer, string][] = [
      ["nothing", hex(""), "INVALID_JSON"],
      ["a reserved byte", hex("c1"), "INVALID_JSON"],
      ["truncated", hex("81 a4 7479"), "INVALID_JSON"],
      ["trailing bytes", hex("80 80"), "INVALID_JSON"],
      ["2^31 elements in ten bytes", hex("dd 80000000 0000000000"), "INVALID_JSON"],
      ["2^31 pairs", hex("df 80000000 0000000000"), "INVALID_JSON"],
      ["2 GB of bytes", hex("c6 80000000 0000000000"), "INVALID_JSON"],
      ["2 GB of text", hex("db 80000000 0000000000"), "INVALID_JSON"],
      ["deeply nested long arrays", Buffer.alloc(3_000, "dd000005", "hex"), "VALIDATION_ERROR"],
      ["a number as key", hex("81 01 02"), "INVALID_JSON"],
      ["a map as key", hex("81 80 02"), "INVALID_JSON"],
      ["__proto__ as key", hex("81 a9 5f5f70726f746f5f5f 80"), "INVALID_JSON"],
      ["a timestamp", hex("d6 ff 00000000"), "INVALID_JSON"],
      ["undefined", hex("d4 00 00"), "INVALID_JSON"],
      ["a record definition", hex("d4 72 40 91 a1 61 01"), "INVALID_JSON"],
      ["an expression", hex("c7 05 78 92 a1 61 a0"), "INVALID_JSON"],
      ["text that is not UTF-8", hex("a2 c328"), "INVALID_JSON"],
      ["a lone surrogate", hex("a3 eda080"), "INVALID_JSON"],
      ["a hundred thousand levels", nested(100_000), "VALIDATION_ERROR"],
      ["one level too many", nested(1_001), "VALIDATION_ERROR"],
    ];
    for (const [name, frame, code] of bad) {
      const answer = await socket.ask(frame);
      expect(answer, name).toMatchObject({ binary: true, frame: { type: "error", data: { code } } });
    }
    expect(await socket.askPacked({ type: "state" })).toMatchObject({ type: "state" });
  });

  test("a 64-bit integer is read like in JSON", async () => {
    const server = await start({}, { environment: blobEnvironment } as never);
    const { socket } = await openConfirmed(server.url);
    await using _end = socket;
    const head = "82 a4 74797065 a4 73746570 a4 64617461 81 a6 616d6f756e74";
    for (const [number, value] of [
      ["cf 0000000100000000", 4294967296],
      ["cf ffffffffffffffff", 2 ** 64],
      ["d3 ffffffffffffffff", -1],
      ["d3 8000000000000000", -(2 ** 63)],
    ] as const) {
      expect((await socket.ask(hex(`${head} ${number}`))).frame).toMatchObject({ data: { reward: value } });
    }
  });

  test("bytes are sent as bytes; if no field accepts bytes they become base64 text, as in JSON", async () => {
    const server = await start({}, { environment: blobEnvironment } as never);
    const { socket, first } = await openConfirmed(server.url);
    await using _end = socket;
    expect(first.frame).toMatchObject({ data: { observation: { blob: "" } } });
    const blob = new Uint8Array([1, 2, 3]);
    const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const data = { blob, picture: png, nested: { blob }, open: { list: [blob] } };
    const { observation } = (await socket.askPacked({ type: "step", data }))["data"] as {
      observation: { blob: unknown };
    };
    expect(observation).toMatchObject({
      kinds: ["blob:bytes", "picture:string", "nested:object", "open:object"],
      open: { list: ["AQID"] },
    });
    expect(Buffer.from(observation.blob as Uint8Array)).toEqual(Buffer.from([3, 2, 1]));
    const text = await socket.ask('{"type":"step","data":{"blob":"AQID"}}');
    expect(text.frame).toMatchObject({ data: { observation: { blob: "AwIB" } } });
  });

  test("megabytes of bytes in place of an object are rejected cheaply", async () => {
    const server = await start();
    const { socket } = await openConfirmed(server.url);
    await using _end = socket;
    const many = Buffer.alloc(12 * 1024 * 1024);
    for (const message of [
      { type: "step", data: many },
      { type: "step", data: { amount: many } },
      { type: many },
      many,
    ]) {
      const answer = await socket.askPacked(message);
      expect(answer).toMatchObject({ type: "error" });
      expect(JSON.stringify(answer).length).toBeLessThan(5_000);
    }
  });
});
