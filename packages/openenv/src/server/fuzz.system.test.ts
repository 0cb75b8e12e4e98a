import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { defineDesk } from "../../../../test-support/environments/tool-environment.js";
import { waitFor } from "../../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";
import { ERRORS } from "../errors.js";
import { serve } from "../serve.js";
import type { RunningServer } from "./types.js";

const SOCKETS = 25;
const FRAMES_EACH = 400;

const counter = defineCounter({ stepBeforeReset: "allow" });
let server: RunningServer;
beforeAll(async () => {
  server = await serve(counter.environment, { port: 0, logLevel: "silent" });
});
afterAll(() => server.close());

const anything = fc.anything({ maxDepth: 1, maxKeys: 3 });

/** Frames near the protocol, and far from it; never a plain close, which has no answer. */
const frame = fc.oneof(
  fc
    .record(
      {
        type: fc.oneof(fc.constantFrom("reset", "step", "state", "mcp", "RESET", "close"), anything),
        data: fc.oneof(
          fc.record(
            { amount: fc.oneof(fc.integer({ min: -20, max: 12 }), anything), metadata: anything },
            { requiredKeys: [] },
          ),
          fc.record({ seed: anything, episode_id: anything, start: anything, split: anything }, { requiredKeys: [] }),
          fc.record({ jsonrpc: fc.constant("2.0"), id: anything, method: anything, params: anything }),
          anything,
        ),
        extra: anything,
      },
      { requiredKeys: [] },
    )
    .map(toText),
  fc.json(),
  fc.string(),
  fc.string().map((text) => `{"type":"step","data":{"amount":${text}}}`),
  fc.constantFrom(
    '{"type":{"toString":1}}',
    '{"type":"step","data":{"amount":NaN}}',
    '{"__proto__":{"type":"state"}}',
    `${"[".repeat(3_000)}`,
  ),
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
);

function toText(value: unknown): string {
  const text =
    JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? part.toString() : part)) ?? "null";
  return text === '{"type":"close"}' ? '{"type":"close","data":1}' : text;
}

describe("ten thousand random frames", () => {
  test("get one answer each, none of them crashes or leaks", async () => {
    const known = new Set(["observation", "state", "error", "mcp"]);
    const frames = Array.from({ length: SOCKETS }, (_, seed) => fc.sample(frame, { numRuns: FRAMES_EACH, seed }));
    const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => openTestSocket(`${server.url}/ws`)));
    await Promise.all(
      sockets.map(async (socket, index) => {
        for (const [at, text] of (frames[index] ?? []).entries()) {
          const { type, data } = (await socket.ask(text)) as { type: string; data: { code?: string } };
          expect(known, `frame ${at} of socket ${index}: ${text}`).toContain(type);
          if (type === "error") expect(ERRORS).toHaveProperty(data.code ?? "");
        }
        expect(await socket.ask({ type: "reset", data: { seed: 1 } })).toMatchObject({ type: "observation" });
      }),
    );
    expect(server.capacity().active_sessions).toBe(SOCKETS);
    await Promise.all(sockets.map((socket) => socket[Symbol.asyncDispose]()));
    await waitFor(() => server.capacity().active_sessions === 0);
    await waitFor(() => counter.log.closed === SOCKETS);
    expect(counter.log).toMatchObject({ created: SOCKETS, closed: SOCKETS, aborted: 0 });
  }, 180_000);

  test("near the calls of tools get one answer each, too, at both doors of a socket", async () => {
    const name = fc.oneof(fc.constantFrom("add", "tally", "fail", "wrong", "constructor", "__proto__"), anything);
    const given = fc.oneof(fc.record({ a: anything, b: anything }, { requiredKeys: [] }), anything);
    const type = fc.oneof(fc.constantFrom("call_tool", "list_tools"), anything);
    const step = fc.record({ type, tool_name: name, arguments: given }, { requiredKeys: [] });
    const rpc = fc.record({
      jsonrpc: fc.constant("2.0"),
      method: fc.constantFrom("tools/call", "tools/list"),
      params: fc.oneof(fc.record({ name, arguments: given }, { requiredKeys: [] }), anything),
    });
    const frames = fc.oneof(
      step.map((data) => toText({ type: "step", data })),
      rpc.map((data) => toText({ type: "mcp", data })),
    );
    const { environment } = defineDesk({ stepBeforeReset: "allow" });
    await using tools = await serve(environment, { port: 0, logLevel: "silent" });
    await using socket = await openTestSocket(`${tools.url}/ws`);
    for (const text of fc.sample(frames, { numRuns: 2_000, seed: 1 })) {
      const { type: answer, data } = (await socket.ask(text)) as { type: string; data: { code?: string } };
      expect(["observation", "error", "mcp"], text).toContain(answer);
      if (answer === "error") expect(data.code, text).toBe("VALIDATION_ERROR");
    }
    expect(await socket.ask({ type: "reset" })).toMatchObject({ type: "observation" });
  }, 180_000);

  test("a frame that is too large, and a hundred thousand levels of nesting", async () => {
    await using deep = await openTestSocket(`${server.url}/ws`);
    const levels = 100_000;
    for (const metadata of [
      `${"[".repeat(levels)}${"]".repeat(levels)}`,
      `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`,
    ]) {
      const text = `{"type":"step","data":{"amount":1,"metadata":${metadata}}}`;
      expect(await deep.ask(text)).toMatchObject({ type: "error", data: { code: "VALIDATION_ERROR" } });
    }
    expect(await deep.ask({ type: "state" })).toMatchObject({ data: { step_count: 0 } });
    await using large = await openTestSocket(`${server.url}/ws`);
    large.send(`{"type":"reset","data":{"x":"${"x".repeat(17 * 1024 * 1024)}"}}`);
    expect((await large.closed).code).toBe(1009);
  });
});
