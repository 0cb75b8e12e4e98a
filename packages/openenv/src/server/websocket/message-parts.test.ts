import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { MessageParts } from "#parts/sockets";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { openBinarySocket } from "../../../../../test-support/sockets/binary-socket.js";
import { bytes, defineContract, defineEnvironment } from "../../index.js";
import { serializeReply } from "../../session/messages/message-codec.js";
import { ESCAPES_FASTER } from "../../util/text/escape-json.js";
import { textPartsWriter } from "./encode-reply.js";

const { start } = useServers();

/** Large fields that are sent as they are, a small one, and large arrays elsewhere, which are copied. */
const camera = defineContract({
  name: "camera_env",
  action: z.object({ size: z.int().optional(), mask: bytes().optional() }),
  observation: z.object({
    label: z.string(),
    left: bytes().optional(),
    small: bytes(),
    right: bytes().nullable(),
    nested: z.object({ image: bytes() }),
    open: z.unknown(),
    count: z.int(),
  }),
});

const MASK = new Uint8Array(70_000);

/** Returns the same arrays in each step, filled with the number of the step. */
const environment = defineEnvironment(camera, () => {
  let image = new Uint8Array();
  let kept = new Uint8Array();
  let count = 0;
  const look = () => {
    const observation = {
      label: "é".repeat(count),
      small: image.subarray(0, 3),
      right: image,
      nested: { image: image.subarray(0, 100_000) },
      // The answer to the first reset is text, in which an open field cannot hold bytes.
      open: count === 0 ? null : { mask: kept },
      count,
    };
    return { observation: count % 2 === 0 ? observation : { left: image.subarray(0, 65_536), ...observation } };
  };
  return {
    reset: () => look(),
    step: ({ size, mask = kept }) => {
      count++;
      if (size !== undefined) image = new Uint8Array(size);
      image.fill(count);
      kept = mask.fill(count);
      return look();
    },
  };
});

interface Look {
  label: string;
  left?: Uint8Array;
  small: Uint8Array;
  right: Uint8Array;
  nested: { image: Uint8Array };
  open: { mask: Uint8Array };
  count: number;
}

const observationOf = (frame: Record<string, unknown>): Look => (frame["data"] as { observation: Look }).observation;

function expectStep({ label, left, small, right, nested, open, count }: Look, step: number, size: number): void {
  const filled = (length: number): Buffer => Buffer.alloc(length, step);
  const isSame = (array: Uint8Array, length: number): boolean => filled(length).equals(array);
  expect({ label, count }).toEqual({ label: "é".repeat(step), count: step });
  expect(left === undefined ? undefined : isSame(left, 65_536)).toBe(step % 2 === 0 ? undefined : true);
  expect([isSame(small, 3), isSame(right, size), isSame(nested.image, 100_000)]).toEqual([true, true, true]);
  expect(isSame(open.mask, MASK.length)).toBe(true);
}

test.each([
  ["plain", "openenv=binary"],
  ["with a batch", "openenv=binary,batch"],
])("large byte fields arrive whole, each in its place, %s", async (_, query) => {
  const server = await start({}, { environment } as never);
  await using socket = await openBinarySocket(`${server.url}/ws?${query}`);
  const isBatch = query.endsWith("batch");
  const items = (data: object) => ({ items: [{ session: 0, data }] });
  if (isBatch) await socket.ask(JSON.stringify({ type: "open_many", data: { count: 1 } }));
  await socket.ask(JSON.stringify(isBatch ? { type: "reset_many", data: items({}) } : { type: "reset" }));
  for (const [i, size] of [200_000, 1_000_000, 100_000].entries()) {
    const frame = isBatch
      ? { type: "step_many", data: items({ size, mask: MASK }) }
      : { type: "step", data: { size, mask: MASK } };
    const answer = await socket.askPacked(frame);
    const [item] = (answer["data"] as { items?: Record<string, unknown>[] }).items ?? [answer];
    expectStep(observationOf(item as Record<string, unknown>), i + 1, size);
  }
});

test("an environment may reuse its arrays while answers wait for the client", async () => {
  const server = await start({}, { environment } as never);
  await using socket = await openBinarySocket(`${server.url}/ws?openenv=binary`);
  await socket.ask('{"type":"reset"}');
  const size = 3_500_000;
  await socket.askPacked({ type: "step", data: { size, mask: MASK } });
  const answers = Array.from({ length: 8 }, () => socket.askPacked({ type: "step", data: {} }));
  for (const [i, answer] of (await Promise.all(answers)).entries()) expectStep(observationOf(answer), i + 2, size);
});

test("content that looks like MessagePack stays what it is", async () => {
  const content = randomBytes(100_000);
  content.set([0xc4, 0x10, 0xc6, 0xff], 10);
  const echo = defineEnvironment(
    defineContract({
      name: "echo_env",
      action: z.object({ content: bytes() }),
      observation: z.object({ content: bytes() }),
    }),
    () => ({
      reset: () => ({ observation: { content } }),
      step: (action) => ({ observation: action }),
    }),
  );
  const server = await start({}, { environment: echo } as never);
  await using socket = await openBinarySocket(`${server.url}/ws?openenv=binary`);
  await socket.ask('{"type":"reset"}');
  const answer = await socket.askPacked({ type: "step", data: { content } });
  expect(content.equals((observationOf(answer) as unknown as { content: Uint8Array }).content)).toBe(true);
});

const LONG = 'She said "yes — no".\n'.repeat(5_000);
const LIMIT = 1_000_000;
const writeText = textPartsWriter(new Set(["first", "missing", "other", "short"]));
const replyWith = (observation: object): object => ({
  type: "observation",
  data: { observation, reward: 1, done: false },
});

test("long strings have the same bytes as with JSON.stringify, also when they are escaped in parts", () => {
  const observation = { n: 1, other: `${LONG}\u0000`, short: "s", list: [LONG], first: LONG, more: LONG };
  const written = writeText(replyWith(observation), LIMIT);
  expect(written instanceof MessageParts).toBe(ESCAPES_FASTER);
  const text = written instanceof MessageParts ? Buffer.concat(written.list).toString() : written;
  expect(text === serializeReply(replyWith(observation), LIMIT)).toBe(true);
  if (written instanceof MessageParts) expect(written.length).toBe(Buffer.byteLength(text));
});

test("a string that cannot be encoded, or exceeds the limit, is an error", () => {
  expect(() => writeText(replyWith({ first: `${LONG}\ud800` }), LIMIT)).toThrow(/lone surrogate/);
  const { length } = Buffer.from(serializeReply(replyWith({ first: LONG }), LIMIT));
  expect(writeText(replyWith({ first: LONG }), length).length).toBeGreaterThan(LONG.length);
  expect(() => writeText(replyWith({ first: LONG }), length - 1)).toThrow(`larger than ${length - 1} bytes`);
});

test("clients receive long strings, and errors in place of strings that cannot be encoded", async () => {
  const reader = defineEnvironment(
    defineContract({
      name: "reader_env",
      action: z.object({ text: z.string() }),
      observation: z.object({ before: z.string(), text: z.string(), after: z.string().nullable() }),
    }),
    () => ({
      reset: () => ({ observation: { before: LONG, text: "", after: null } }),
      step: ({ text }) => ({ observation: { before: "b", text, after: text === "lone" ? `${LONG}\udc00` : LONG } }),
    }),
  );
  const server = await start({}, { environment: reader } as never);
  await using socket = await openBinarySocket(`${server.url}/ws`);
  const texts = [`${LONG}1`, "lone", "short", LONG.repeat(30)];
  const ask = (data: object) => socket.ask(JSON.stringify(data));
  const answers = await Promise.all([
    ask({ type: "reset" }),
    ...texts.map((text) => ask({ type: "step", data: { text } })),
  ]);
  const [reset, first, lone, short, last] = answers.map(({ binary, frame }) => ({ binary, ...frame }));
  const read = (answer: unknown): unknown => (answer as { data: { observation: unknown } }).data.observation;
  expect(read(reset)).toMatchObject({ before: LONG, text: "", after: null });
  expect(read(first)).toMatchObject({ before: "b", text: `${LONG}1`, after: LONG });
  expect(lone).toMatchObject({ type: "error", data: { code: "EXECUTION_ERROR" } });
  expect(read(short)).toMatchObject({ before: "b", text: "short", after: LONG });
  expect(read(last)).toMatchObject({ before: "b", text: LONG.repeat(30), after: LONG });
  expect(answers.map(({ binary }) => binary)).toEqual(Array(5).fill(false));
});
