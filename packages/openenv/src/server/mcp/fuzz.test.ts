import fc from "fast-check";
import { expect, test } from "vitest";
import { INITIALIZE, initialize, MCP_ACCEPT, useMcp } from "../../../../../test-support/environments/mcp.js";

const { start, open } = useMcp();
const RUNS = 400;

const anything = fc.oneof(fc.anything({ maxDepth: 2, maxKeys: 3 }), fc.constantFrom("\ud800", Number.NaN, 1e300, -1));
const method = fc.oneof(
  fc.constantFrom("initialize", "ping", "tools/list", "tools/call", "notifications/cancelled", "subscriptions/listen"),
  anything,
);
const params = fc.oneof(
  fc.record({ name: fc.oneof(fc.constantFrom("add", "tally"), anything), arguments: anything }, { requiredKeys: [] }),
  fc.record({ _meta: anything, requestId: anything }, { requiredKeys: [] }),
  anything,
);
const message = fc.record({ jsonrpc: fc.constant("2.0"), id: anything, method, params }, { requiredKeys: ["jsonrpc"] });

/** Bodies near what MCP takes, and far from it. */
const body = fc.oneof(
  message.map(toText),
  fc.array(message, { maxLength: 3 }).map(toText),
  fc.json(),
  fc.uint8Array({ maxLength: 100 }),
  fc.constantFrom("[".repeat(3_000), "", JSON.stringify({ ...INITIALIZE, params: {} })),
);

const request = fc.record({
  verb: fc.constantFrom("POST", "POST", "POST", "POST", "DELETE", "GET"),
  accept: fc.constantFrom(MCP_ACCEPT, MCP_ACCEPT, "text/event-stream"),
  type: fc.constantFrom("application/json", "application/json", "text/plain"),
  revision: fc.constantFrom(undefined, "2025-06-18", "2026-07-28", "\u00ff"),
  session: fc.constantFrom("none", "live", "live", "gone"),
  body,
});

function toText(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? part.toString() : part)) ?? "";
}

test("random requests of MCP are answered, and neither the server nor a session is lost to them", async () => {
  const { server, active } = await start({ maxConcurrentEnvs: 2 });
  const keeper = await open(server);
  let session = await initialize(server.url);
  for (const { verb, accept, type, revision, session: which, body } of fc.sample(request, { numRuns: RUNS, seed: 5 })) {
    const headers: Record<string, string> = { accept, "content-type": type };
    if (revision !== undefined) headers["mcp-protocol-version"] = revision;
    if (which !== "none") headers["mcp-session-id"] = which === "live" ? session["mcp-session-id"] : "gone";
    const patience = new AbortController();
    const answer = {
      method: verb,
      headers,
      signal: patience.signal,
      ...(verb === "POST" && { body: body as BodyInit }),
    };
    const response = await fetch(`${server.url}/mcp`, answer);
    // A stream goes on until its client leaves.
    if (response.headers.get("content-type") === "text/event-stream") patience.abort();
    else await response.text();
    const told = `${verb} ${which} ${revision} ${JSON.stringify(body)} -> ${response.status}`;
    expect(response.status, told).toBeLessThan(500);
    if (verb === "DELETE" && response.status === 200) session = await initialize(server.url);
    expect(active(), told).toBeLessThanOrEqual(2);
  }
  expect(await keeper.client.callTool({ name: "tally" })).toMatchObject({ structuredContent: { result: 1 } });
}, 60_000);
