import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { defineCounter } from "../../test-support/counter.js";
import { startScriptedServer } from "../../test-support/scripted-server.js";
import { serve } from "../serve.js";
import { checkServer } from "./check-server.js";
import { renderCheckReport } from "./report.js";

describe("checkServer", () => {
  test.each(["simulation", "production"] as const)("passes a server in %s", async (mode) => {
    await using server = await serve(defineCounter().environment, { port: 0, logLevel: "silent", mode });
    const report = await checkServer(`${server.url}/`);
    expect(report.passed, renderCheckReport(report)).toBe(true);
    expect(server.capacity().active_sessions).toBe(0);
  });

  test("says of a server that has /health and nothing else what is missing", async () => {
    const bare = createServer((request, response) => {
      response.writeHead(request.url === "/health" ? 200 : 404, { "content-type": "application/json" });
      response.end(request.url === "/health" ? '{"status":"healthy"}' : '{"detail":"Not Found"}');
    });
    await new Promise<void>((resolve) => bare.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = bare.address() as AddressInfo;
      const report = await checkServer(`http://127.0.0.1:${port}`);
      const failed = report.checks.filter(({ status }) => status === "failed").map(({ id }) => id);
      expect(failed).toEqual(["metadata", "schema", "openapi", "mcp", "episode", "bad_input", "isolated"]);
    } finally {
      bare.close();
    }
  });

  test("takes every address that connect takes, and gives up where nobody is", async () => {
    await using server = await serve(defineCounter().environment, { port: 0, logLevel: "silent" });
    for (const url of [`ws://127.0.0.1:${server.port}/ws`, `127.0.0.1:${server.port}`, new URL(server.url)]) {
      expect(await checkServer(url)).toMatchObject({ target: server.url, passed: true });
    }
    await expect(checkServer("http://127.0.0.1:9")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  });

  test("sends headers and token with every request, and waits no longer than it is told", async () => {
    const seen = new Set<string>();
    let deaf = false;
    const server = createServer((request, response) => {
      seen.add(`${request.headers.authorization} ${request.headers["x-team"]}`);
      if (!deaf) response.writeHead(404).end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const options = { token: "t0", headers: { "x-team": "red" } };
      expect((await checkServer(url, options)).passed).toBe(false);
      expect([...seen]).toEqual(["Bearer t0 red"]);
      deaf = true;
      await expect(checkServer(url, { timeoutMs: 20 })).rejects.toMatchObject({ code: "CLIENT_TIMEOUT" });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test.each([
    ["nothing", {}],
    ["sessions", { isolated: /another session changed total: 0 and \d+/ }],
    ["step_count", { episode: /step_count is 5 after 4 steps/ }],
    ["refusal", { bad_input: /after the refusal the session does not go on: .*was lost/ }],
    ["validation", { bad_input: /an action with an unknown field was answered with undefined/ }],
    ["answers", { health: /"status":"ill"/, mcp: /no object: \[\]/, metadata: /answered \{"name":1\}/ }],
  ] as const)("finds what is broken about a server of somebody else: %s", async (broken, expected) => {
    await using server = await startForeignServer(broken);
    const { checks } = await checkServer(server.url);
    const failed = checks.filter(({ status }) => status === "failed");
    expect(Object.fromEntries(failed.map(({ id, detail }) => [id, detail]))).toEqual(
      Object.fromEntries(Object.entries(expected).map(([id, detail]) => [id, expect.stringMatching(detail)])),
    );
  });
});

/** A small server that is not of this package and keeps the protocol, but for what is `broken`. */
function startForeignServer(broken: string) {
  const whole = broken !== "answers";
  const action = { type: "object", properties: { amount: { type: "integer" } }, required: ["amount"] };
  const schema = { action, observation: { type: "object" }, state: { type: "object" } };
  const shared = { total: 0 };
  return startScriptedServer(
    async (peer) => {
      const own = broken === "sessions" ? shared : { total: 0 };
      let [episode_id, step_count]: [unknown, number] = [null, 0];
      const observe = (): void =>
        peer.send({ type: "observation", data: { observation: { total: own.total }, reward: 1, done: false } });
      for (;;) {
        const { type, data = {} } = (await peer.receive()) as { type: string; data?: Record<string, unknown> };
        if (type === "state") {
          peer.send({ type: "state", data: { episode_id, step_count, total: own.total } });
        } else if (type === "reset") {
          [episode_id, step_count] = [data["episode_id"] ?? null, broken === "step_count" ? 1 : 0];
          own.total = 0;
          observe();
        } else if (type === "step" && (Number.isInteger(data["amount"]) || broken === "validation")) {
          own.total += Number(data["amount"]);
          step_count++;
          observe();
        } else if (type === "step") {
          peer.send({ type: "error", data: { code: "VALIDATION_ERROR", message: "Invalid message", errors: [] } });
          if (broken === "refusal") peer.socket.close();
        }
      }
    },
    {
      "/health": { status: whole ? "healthy" : "ill" },
      "/metadata": whole ? { name: "foreign_env", description: "Adds up." } : { name: 1 },
      "/schema": schema,
      "/openapi.json": { info: { version: "1" }, paths: {} },
      "/mcp": whole ? { jsonrpc: "2.0", id: null } : [],
    },
  );
}
