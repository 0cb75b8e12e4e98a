import fc from "fast-check";
import { expect, test } from "vitest";
import { useServers } from "../../../../../test-support/servers/servers.js";

const { start } = useServers();
const RUNS = 1_500;

const anything = fc.oneof(
  fc.anything({ maxDepth: 2, maxKeys: 3 }),
  fc.constantFrom("\ud800", { toString: 1 }, { valueOf: 1, toString: 2 }, Number.NaN, 1e300, -1, "train"),
);

/** Bodies near what the routes take, and far from it. */
const body = fc.oneof(
  fc
    .record(
      {
        action: fc.oneof(fc.record({ amount: fc.oneof(fc.integer({ min: -20, max: 12 }), anything) }), anything),
        timeout_s: anything,
        request_id: anything,
        seed: anything,
        episode_id: anything,
        start: anything,
        stop: anything,
        split: anything,
        index: anything,
      },
      { requiredKeys: [] },
    )
    .map(toText),
  fc
    .record({ jsonrpc: fc.constant("2.0"), id: anything, method: anything, params: anything }, { requiredKeys: [] })
    .map(toText),
  fc.json(),
  fc.string({ unit: "binary" }),
  fc.uint8Array({ maxLength: 100 }),
  fc.constantFrom(`${"[".repeat(3_000)}`, '{"action":{"amount":NaN}}', '{"__proto__":{"action":{}}}', ""),
);

const request = fc.record({
  path: fc.constantFrom(
    ...["/reset", "/step", "/mcp", "/nobody/task"],
    ...["tasks", "num_tasks", "task", "task_range"].map((task) => `/counter_env/${task}`),
  ),
  type: fc.constantFrom(
    "application/json",
    "application/json",
    "text/plain",
    "application/x+json; charset=utf-8",
    "json",
  ),
  session: fc.constantFrom("", "none", "nobody", "\u00ff"),
  body,
});

function toText(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? part.toString() : part)) ?? "";
}

test("random bodies are answered with JSON and a status that says what it is, and the server lives", async () => {
  const server = await start();
  for (const { path, type, session, body } of fc.sample(request, { numRuns: RUNS, seed: 11 })) {
    const headers = { "content-type": type, ...(session === "" ? {} : { "openenv-session": session }) };
    const response = await fetch(server.url + path, { method: "POST", headers, body: body as BodyInit });
    const text = await response.text();
    const told = `${path} ${JSON.stringify(body)} -> ${response.status} ${text.slice(0, 200)}`;
    expect([200, 404, 422, 500, 501, 504], told).toContain(response.status);
    expect(() => JSON.parse(text), told).not.toThrow();
    // 500 is for what the environment does, never for what a request holds.
    if (response.status === 500) expect(text, told).toContain("unlucky amount");
  }
  const { status } = await fetch(`${server.url}/health`);
  expect(status).toBe(200);
}, 60_000);
