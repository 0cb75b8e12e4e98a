import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment } from "../../index.js";
import { serve } from "../../serve.js";
import { MAX_ISSUES } from "../../validation/errors/issues.js";
import type { RunningServer } from "../types.js";

const LONE = "\ud800";
const contract = defineContract({
  name: "echo_env",
  action: z.object({ text: z.string() }),
  observation: z.object({ text: z.string() }),
});
const environment = defineEnvironment(
  contract,
  () => ({
    reset: () => ({ observation: { text: "" } }),
    step: ({ text }) => ({ observation: { text: text === "lone" ? LONE : text } }),
  }),
  { tasks: { splits: () => ["train"], list: () => [{ text: LONE }] } },
);

let server: RunningServer;
beforeAll(async () => {
  server = await serve(environment, { port: 0, logLevel: "silent" });
});
afterAll(() => server.close());

async function post(path: string, body: string) {
  const response = await fetch(server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const text = await response.text();
  return { status: response.status, length: text.length, body: JSON.parse(text) as Record<string, unknown> };
}

describe("half characters", () => {
  test("in an observation or a task are the environment's failure", async () => {
    const failure = { status: 500, body: { code: "EXECUTION_ERROR", detail: expect.stringContaining("surrogate") } };
    expect(await post("/step", '{"action":{"text":"lone"}}')).toMatchObject(failure);
    expect(await post("/echo_env/tasks", '{"split":"train"}')).toMatchObject({ status: 500 });
  });

  test.each([
    ["/step", '{"action":"\\ud800"}', "dict_type"],
    ["/step", '{"action":{"text":"a","\\ud800":1}}', "extra_forbidden"],
    ["/step", '{"action":{"text":"a"},"timeout_s":"\\ud800"}', "float_parsing"],
    ["/reset", '{"seed":"\\ud800"}', "int_parsing"],
    ["/reset", '"\\ud800"', "model_attributes_type"],
    ["/step", `{"action": ${"😀".repeat(30)}`, "json_invalid"],
    ["/echo_env/tasks", '{"split":"train","\\ud800":1}', "extra_forbidden"],
  ])("in a bad request to %s, %s, do not hide what is wrong with it", async (path, body, type) => {
    expect(await post(path, body)).toMatchObject({ status: 422, body: { detail: [{ type }] } });
  });

  test("in JSON-RPC are answered as JSON-RPC", async () => {
    expect((await post("/mcp", '{"jsonrpc":"2.0","method":"ping","id":"\\ud800"}')).body).toMatchObject({
      id: null,
      error: { code: -32600 },
    });
    expect((await post("/mcp", '{"jsonrpc":"2.0","method":"\\ud800","id":1}')).body).toMatchObject({
      id: 1,
      error: { code: -32601, message: "Method not found: \ufffd" },
    });
    const close = '{"jsonrpc":"2.0","method":"openenv/session/close","params":{"session_id":{"toString":1}},"id":2}';
    expect((await post("/mcp", close)).body).toMatchObject({ id: 2, error: { code: -32602 } });
  });
});

test.each([
  ['"request_id":{"toString":1}', "string_type"],
  ['"request_id":{"length":1e9}', "string_type"],
  ['"timeout_s":{"valueOf":1,"toString":2}', "float_type"],
  ['"timeout_s":[7]', "float_type"],
])("a field of the wrong type says so: %s", async (field, type) => {
  const answer = await post("/step", `{"action":{"text":"a"},${field}}`);
  expect(answer).toMatchObject({ status: 422, body: { detail: [{ type }] } });
});

test("what is echoed of a request is short, and so is the list of what is wrong", async () => {
  const keys = (length: number) => Object.fromEntries(Array.from({ length }, (_, i) => [`key${i}`, 1]));
  const listed = await post("/echo_env/tasks", JSON.stringify(keys(5_000)));
  expect(listed.status).toBe(422);
  expect(listed.body["detail"]).toHaveLength(MAX_ISSUES);
  const many = keys(15_000);
  // Of a body with so many values only the first error is looked for.
  const first = await post("/echo_env/tasks", JSON.stringify(many));
  expect(first).toMatchObject({ status: 422, body: { detail: [{ type: "missing", loc: ["body", "split"] }] } });
  const long = "y".repeat(1_000_000);
  for (const [path, body] of [
    ["/step", { x: long }],
    ["/reset", [long]],
    ["/step", { action: { text: "a" }, [long]: 1, request_id: long }],
    ["/mcp", { jsonrpc: "2.0", method: long, id: 1 }],
    ["/mcp", { jsonrpc: "2.0", method: "x", id: long }],
    ["/mcp", { jsonrpc: "2.0", id: 1, ...many, [long]: 1 }],
    ["/mcp", { jsonrpc: "2.0", method: "openenv/session/close", params: { session_id: long }, id: 1 }],
  ] as const) {
    expect((await post(path, JSON.stringify(body))).length).toBeLessThan(10_000);
  }
});
