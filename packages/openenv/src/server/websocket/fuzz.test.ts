import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { waitFor } from "../../../../../test-support/servers/servers.js";
import { openBinarySocket } from "../../../../../test-support/sockets/binary-socket.js";
import { ERRORS } from "../../errors.js";
import { type BinaryCodec, loadBinary } from "../../protocol/codec/binary.js";
import { parseJson, TooManyItemsError } from "../../protocol/codec/json.js";
import { serve } from "../../serve.js";
import type { RunningServer } from "../types.js";

const SOCKETS = 10;
const FRAMES_EACH = 400;
const HELLO = '{"type":"open_many","data":{"count":2}}';

const counter = defineCounter({ stepBeforeReset: "allow" });
let server: RunningServer;
let codec: BinaryCodec;
beforeAll(async () => {
  server = await serve(counter.environment, { port: 0, logLevel: "silent" });
  codec = await loadBinary();
});
afterAll(() => server.close());

const anything = fc.anything({ maxDepth: 1, maxKeys: 3 });
const session = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: -1, max: 3 }) }, anything);
const item = fc.oneof(
  fc.record(
    {
      session,
      data: fc.oneof(fc.record({ amount: fc.oneof(fc.integer({ min: -20, max: 12 }), anything) }), anything),
      extra: anything,
    },
    { requiredKeys: [] },
  ),
  anything,
);
/** Frames of the extension and near it. Sessions are not closed: the others are to be told from them. */
const frame = fc.record(
  {
    type: fc.oneof(fc.constantFrom("reset_many", "step_many", "state_many", "close_some", "step", "mcp"), anything),
    data: fc.oneof(
      fc.record({ items: fc.oneof(fc.array(item, { maxLength: 5 }), anything), extra: anything }, { requiredKeys: [] }),
      fc.record({ count: fc.oneof(fc.integer({ min: -2, max: 0 }), anything) }),
      anything,
    ),
    extra: anything,
  },
  { requiredKeys: ["type"] },
);

/** MessagePack of a frame, whole, cut off, or with a byte changed; or no MessagePack at all. */
const bytes = fc.oneof(
  frame.map(pack),
  fc.tuple(frame.map(pack), fc.nat()).map(([packed, cut]) => packed.subarray(0, cut % (packed.length + 1))),
  fc.tuple(frame.map(pack), fc.nat(), fc.nat(255)).map(([packed, at, value]) => {
    const changed = Uint8Array.from(packed);
    changed[at % changed.length] = value;
    return changed;
  }),
  fc.uint8Array({ maxLength: 64 }),
  // A container of any length first, then whatever.
  fc
    .tuple(fc.constantFrom(0xdc, 0xdd, 0xde, 0xdf, 0xc6, 0xc9, 0xdb, 0xd4, 0xc7), fc.uint8Array({ maxLength: 32 }))
    .map(([token, rest]) => Uint8Array.of(token, ...rest)),
);

function plainJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? part.toString() : part)) ?? "null";
}

function pack(value: unknown): Uint8Array {
  try {
    return codec.encode(JSON.parse(plainJson(value)));
  } catch {
    return Uint8Array.of(0xc1);
  }
}

function check(answer: Record<string, unknown>): void {
  const { type, data } = answer as { type: string; data: { code?: string; items?: unknown[] } };
  expect(["error", "many", "observation", "state", "mcp"]).toContain(type);
  if (type === "error") expect(ERRORS).toHaveProperty(data.code ?? "");
  for (const reply of data.items ?? []) check(reply as Record<string, unknown>);
}

describe("random frames on sockets with extensions", () => {
  test("get one answer each in their own format, and no session is lost or left over", async () => {
    const sockets = await Promise.all(
      Array.from({ length: SOCKETS }, () => openBinarySocket(`${server.url}/ws?openenv=batch,binary,timing`)),
    );
    await Promise.all(
      sockets.map(async (socket, seed) => {
        await socket.ask(HELLO);
        const packed = fc.sample(bytes, { numRuns: FRAMES_EACH, seed });
        const texts = fc.sample(frame.map(plainJson), { numRuns: FRAMES_EACH / 4, seed });
        for (const message of [...packed, ...texts]) {
          const answer = await socket.ask(message);
          expect(answer.binary, String(message)).toBe(typeof message !== "string");
          check(answer.frame);
        }
        const last = { type: "reset_many", data: { items: [{ session: 0 }, { session: 1 }] } };
        expect(await socket.askPacked(last)).toMatchObject({
          data: { items: [{ type: "observation" }, { type: "observation" }] },
        });
      }),
    );
    expect(server.capacity().active_sessions).toBe(2 * SOCKETS);
    await Promise.all(sockets.map((socket) => socket[Symbol.asyncDispose]()));
    await waitFor(() => server.capacity().active_sessions === 0);
    await waitFor(() => counter.log.closed === counter.log.created);
    expect(counter.log.created).toBe(2 * SOCKETS);
  }, 120_000);

  test("what can be packed comes back as JSON would bring it", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        const text = JSON.stringify(value);
        // Refused with a reason, both: half a character, a key that is a trap.
        if (/\\ud[89a-f]|"__proto__"/.test(text)) return;
        expect(codec.decode(codec.encode(value)).value).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  test("items are counted in the bytes as in JSON, and byte arrays are one each", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.uint8Array(), (value, raw) => {
        const text = JSON.stringify([value]);
        if (text.includes('"__proto__"')) return;
        let items = 0;
        for (let left = true; left; items++) left = refuses(() => parseJson(text, items));
        items -= 1;
        const bytes = codec.encode([value]);
        expect(codec.decode(bytes, items).value).toEqual(JSON.parse(text));
        expect(() => codec.decode(bytes, items - 1)).toThrow(TooManyItemsError);
        const withBytes = codec.encode([[value], raw]);
        expect(codec.decode(withBytes, items + 2).hasBytes).toBe(true);
        expect(() => codec.decode(withBytes, items + 1)).toThrow(TooManyItemsError);
      }),
    );
    // 2^32 - 1 nils that are not there, and as many as there are bytes.
    expect(() => codec.decode(Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0))).toThrow(SyntaxError);
    const nils = new Uint8Array(5 + 1_000_001).fill(0xc0);
    nils.set([0xdd, 0x00, 0x0f, 0x42, 0x41]);
    expect(() => codec.decode(nils, 1_000_000)).toThrow(TooManyItemsError);
  });

  test("no bytes crash the decoder or make it loop", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (input) => {
        try {
          const { value } = codec.decode(input);
          expect(value).not.toBeInstanceOf(Map);
          codec.encode(value);
        } catch (error) {
          expect((error as Error).constructor.name).toMatch(/^(SyntaxError|TooDeepError)$/);
        }
      }),
      { numRuns: 20_000 },
    );
  }, 120_000);
});

function refuses(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(TooManyItemsError);
    return true;
  }
}
