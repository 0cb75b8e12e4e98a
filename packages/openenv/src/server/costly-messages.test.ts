import { expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../test-support/servers/servers.js";
import { openBinarySocket } from "../../../../test-support/sockets/binary-socket.js";
import { COSTLY_SHAPES, packCostlyStep, renderCostly } from "../../../../test-support/sockets/costly-messages.js";
import { ConfigError } from "../errors.js";
import { defineContract, defineEnvironment } from "../index.js";
import { MAX_MESSAGE_ITEMS, parseJson } from "../protocol/codec/json.js";
import { createActionCheck } from "../validation/parse-input.js";

const { start, open } = useServers();

const environment = defineEnvironment(
  defineContract({
    name: "costly_env",
    action: z.object({
      any: z.unknown().optional(),
      list: z.array(z.number()).optional(),
      text: z.string().optional(),
    }),
    observation: z.object({ items: z.int() }),
  }),
  () => ({
    reset: () => ({ observation: { items: 0 } }),
    step: ({ any }) => ({ observation: { items: Array.isArray(any) ? any.length : 0 } }),
  }),
);
const LIMIT = 20_000;
/** The items of the frame around the value: type, data and the field. */
const AROUND = 42;
const step = (field: string, value: string): string => `{"type":"step","data":{"${field}":${value}}}`;
const MESSAGE = /more than 20000 values and keys \(MAX_MESSAGE_ITEMS\)/;
const refused = { type: "too_many_items", loc: [], msg: expect.stringMatching(MESSAGE), input: null };

test.each(COSTLY_SHAPES)("a frame with too many values is rejected and its session continues: %s", async (shape) => {
  const server = await start({ maxMessageItems: LIMIT }, { environment });
  const [socket, bystander] = [await open(server), await open(server)];
  await socket.ask({ type: "reset" });
  const tooMany = step("any", renderCostly(shape, { items: LIMIT + 10, bytes: 15e6 }));
  expect(await socket.ask(tooMany)).toMatchObject({
    type: "error",
    data: { code: "VALIDATION_ERROR", message: expect.stringMatching(MESSAGE), errors: [refused] },
  });
  const most = renderCostly(shape, { items: LIMIT - AROUND, bytes: 15e6 });
  expect((await socket.ask(step("any", most)))["type"]).toBe("observation");
  for (const field of ["list", "text", "unknown"]) {
    const answer = await socket.ask(step(field, most));
    expect(JSON.stringify(answer).length).toBeLessThan(20_000);
  }
  expect((await bystander.ask({ type: "reset" }))["type"]).toBe("observation");
  expect(server.capacity().active_sessions).toBe(2);
});

test("the default server rejects 15 MB of values in each format, and loses no session", async () => {
  const server = await start({}, { environment });
  const bystander = await open(server);
  const binary = await openBinarySocket(`${server.url}/ws?openenv=binary`);
  await binary.ask('{"type":"reset"}');
  for (const value of ["nil", "list", "object"] as const) {
    expect(await binary.askPacked(binary.codec.decode(packCostlyStep("any", value, 3)).value)).toMatchObject({
      data: { observation: { items: 3 } },
    });
    const { frame } = await binary.ask(packCostlyStep("any", value, 15_000_000));
    expect(frame).toMatchObject({ data: { code: "VALIDATION_ERROR", errors: [{ type: "too_many_items" }] } });
  }
  const socket = await open(server);
  await socket.ask({ type: "reset" });
  for (const shape of ["empty lists", "non-finite numbers"] as const) {
    const frame = step("any", renderCostly(shape, { items: 15e6, bytes: 15e6 }));
    expect(await socket.ask(frame)).toMatchObject({ data: { code: "VALIDATION_ERROR" } });
  }
  // Bytes and the characters of a string are not items.
  const text = '[{"a":1},'.repeat(1_500_000);
  expect((await socket.ask(step("any", JSON.stringify(text))))["type"]).toBe("observation");
  expect((await bystander.ask({ type: "reset" }))["type"]).toBe("observation");
  expect(server.capacity().active_sessions).toBe(3);
  await binary[Symbol.asyncDispose]();
}, 120_000);

test.each(["json", "binary"])("the first occurrence of a key in a frame counts as twelve items: %s", async (format) => {
  const server = await start({ maxMessageItems: 2000 }, { environment });
  const socket = await openBinarySocket(`${server.url}/ws?openenv=binary`);
  await socket.ask('{"type":"reset"}');
  const ask = async (any: object): Promise<unknown> => {
    const frame = { type: "step", data: { any } };
    if (format === "binary") return (await socket.askPacked(frame))["type"];
    return (await socket.ask(JSON.stringify(frame))).frame["type"];
  };
  const keys = (count: number, name: (i: number) => string) => Array.from({ length: count }, (_, i) => [name(i), 0]);
  const different = (count: number) => Object.fromEntries(keys(count, (i) => `a longer key, number ${i}`));
  const same = (count: number) => Array.from({ length: count }, () => ({ "the same longer key": 0 }));
  expect([await ask(different(150)), await ask(different(151))]).toEqual(["observation", "error"]);
  expect([await ask(same(649)), await ask(same(650))]).toEqual(["observation", "error"]);
  expect(await ask({})).toBe("observation");
  await socket[Symbol.asyncDispose]();
});

test("a frame with NaN is parsed without a reviver, and one with too many values is not parsed", async () => {
  const server = await start({}, { environment });
  const socket = await open(server);
  await socket.ask({ type: "reset" });
  const parse = vi.spyOn(JSON, "parse");
  const frame = step("any", '["marked",NaN,{"a":-Infinity}]');
  const answer = await socket.ask(frame);
  const callsWith = (mark: string) => parse.mock.calls.filter(([text]) => String(text).includes(mark));
  const calls = callsWith("marked");
  const tooMany = renderCostly("zeros", { items: 250_001, bytes: 15e6 });
  const refusal = await socket.ask(`{"type":"step","data":{"any":{"refused":${tooMany}}}}`);
  // Items are counted before the frame is parsed.
  expect(callsWith("refused")).toEqual([]);
  parse.mockRestore();
  expect(refusal).toMatchObject({ data: { code: "VALIDATION_ERROR" } });
  expect(answer).toMatchObject({ data: { observation: { items: 3 } } });
  expect(calls.length).toBeGreaterThan(0);
  expect(calls.map((args) => args.length)).toEqual(calls.map(() => 1));
});

test("over HTTP and in JSON-RPC the answer names the limit", async () => {
  const server = await start({ maxMessageItems: LIMIT }, { environment });
  const value = renderCostly("zeros", { items: LIMIT + 10, bytes: 15e6 });
  const post = async (path: string, body: string, more: Record<string, string> = {}) => {
    const headers = { "content-type": "application/json", ...more };
    const response = await fetch(server.url + path, { method: "POST", headers, body });
    return { status: response.status, body: (await response.json()) as object };
  };
  expect(await post("/step", `{"action":{"any":${value}}}`)).toEqual({
    status: 422,
    body: { detail: [{ ...refused, loc: ["body"] }], fault: "client" },
  });
  const rpc = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"any":${value}}}`;
  const parseError = { id: null, error: { code: -32700, message: expect.stringMatching(MESSAGE) } };
  expect(await post("/mcp", rpc)).toMatchObject({ status: 200, body: parseError });
  const accept = "application/json, text/event-stream";
  expect(await post("/mcp", rpc, { accept })).toMatchObject({ status: 400, body: parseError });
  expect(await (await open(server, "/mcp")).ask(rpc)).toMatchObject(parseError);
  const nested = { action: { type: "call_tool", tool_name: "x", arguments: `{"any":${value}}` } };
  expect(JSON.stringify((await post("/web/step", JSON.stringify(nested))).body)).toMatch(MESSAGE);
});

test("250,000 values and keys are the default, and the variable changes it", async () => {
  const ask = async (items: number): Promise<string> => {
    const socket = await open(await start({}, { environment }));
    await socket.ask({ type: "reset" });
    const answer = await socket.ask(step("any", renderCostly("zeros", { items, bytes: 15e6 })));
    return String(answer["type"]);
  };
  expect([await ask(250_000 - AROUND), await ask(250_001)]).toEqual(["observation", "error"]);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("MAX_MESSAGE_ITEMS", "2000");
  expect([await ask(2000 - AROUND), await ask(2001)]).toEqual(["observation", "error"]);
}, 60_000);

test.each(COSTLY_SHAPES)("the most that one message may contain takes little processor time: %s", (shape) => {
  const text = renderCostly(shape, { items: MAX_MESSAGE_ITEMS - 1, bytes: 15e6 });
  const check = createActionCheck(environment.contract.action);
  const measure = (): number => {
    const before = process.cpuUsage();
    expect(check({ any: parseJson(text, MAX_MESSAGE_ITEMS) }).ok).toBe(true);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  // 10 to 60 ms on an idle machine.
  expect(Math.min(measure(), measure(), measure())).toBeLessThan(200);
});

test("a limit out of range is an error", async () => {
  await expect(start({ maxMessageItems: 10 })).rejects.toThrow(
    new ConfigError('MAX_MESSAGE_ITEMS must be an integer from 1000 to 536870912, not "10".'),
  );
});
