import { expect, test } from "vitest";
import { renderRpc } from "../doors/rpc.js";
import { lastRecorded, renderReply, SerializationError, serializeReply } from "./message-codec.js";

const CYCLE: { self?: unknown } = {};
CYCLE.self = CYCLE;

test.each<[string, unknown, number]>([
  ["more bytes than the limit", "ö".repeat(30), 64],
  ["a lone surrogate", "\ud800", 1_000],
  ["a cycle", CYCLE, 1_000],
  ["a bigint", 1n, 1_000],
])("%s: each transport says that the answer cannot be sent", (_what, value, maxBytes) => {
  expect(() => serializeReply({ value }, maxBytes)).toThrow(SerializationError);
  expect(JSON.parse(renderReply({ value }, maxBytes))).toMatchObject({
    type: "error",
    data: { code: "EXECUTION_ERROR", message: expect.stringMatching(/^the answer cannot be sent: /) },
  });
  expect(JSON.parse(renderRpc({ jsonrpc: "2.0", id: 7, result: value }, maxBytes))).toMatchObject({
    id: 7,
    error: { code: -32603, message: expect.stringMatching(/^the answer cannot be sent: /) },
  });
});

test("an answer of just the limit is sent", () => {
  expect(serializeReply({ a: "ö" }, 10)).toBe('{"a":"ö"}');
  expect(() => serializeReply({ a: "ö" }, 9)).toThrow(/larger than 9 bytes/);
});

test("an answer is sent with the text that was recorded, once, and only if it can be sent", () => {
  const answer = { a: 1 };
  Object.assign(lastRecorded, { answer, text: '{"a":1}' });
  answer.a = 2;
  expect([serializeReply(answer, 100), serializeReply(answer, 100)]).toEqual(['{"a":1}', '{"a":2}']);
  Object.assign(lastRecorded, { answer, text: '{"a":2}' });
  expect(serializeReply({ ...answer, b: 2 }, 100)).toBe('{"a":2,"b":2}');
  const half = { a: "\ud800" };
  Object.assign(lastRecorded, { answer: half, text: '{"a":"\\ud800"}' });
  expect(() => serializeReply(half, 100)).toThrow(SerializationError);
});
