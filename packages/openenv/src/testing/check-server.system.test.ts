import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { startForeignServer } from "../../../../test-support/other-servers/foreign-server.js";
import { serve } from "../serve.js";
import { type CheckServerOptions, checkServer } from "./check-server.js";
import { renderCheckReport } from "./report.js";

// A check is hundreds of sessions.
vi.setConfig({ testTimeout: 120_000 });

/** Enough to fill the server with what leaks. */
const ROUNDS = 12;
const UNSHOWN: unknown = expect.stringMatching(/do not show what the seed decides: seeds 7 to 12 .*--actions/);

describe("checkServer", { timeout: 60_000 }, () => {
  test.each(["simulation", "production"] as const)("passes a server in %s", async (mode) => {
    await using server = await serve(defineCounter().environment, { port: 0, logLevel: "silent", mode });
    const report = await checkServer(`${server.url}/`, { httpTimeoutMs: 60_000 });
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
      expect(failed).toEqual([
        "openapi_version_available",
        "metadata_endpoint",
        "schema_endpoint",
        "mcp_endpoint",
        "mode_endpoint_consistency",
        "episode",
      ]);
      expect(report.checks.find(({ id }) => id === "episode")?.detail).toMatch(/could not open the WebSocket \/ws/);
    } finally {
      bare.close();
    }
  });

  test("takes every address that connect takes, and fails where no server listens", async () => {
    await using server = await serve(defineCounter().environment, { port: 0, logLevel: "silent" });
    for (const url of [`ws://127.0.0.1:${server.port}/ws`, `127.0.0.1:${server.port}`, new URL(server.url)]) {
      expect(await checkServer(url, { httpTimeoutMs: 60_000 })).toMatchObject({ target: server.url, passed: true });
    }
    await expect(checkServer("http://127.0.0.1:9")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  });

  test("sends headers and token with every request, and respects its time limit", async () => {
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

  test("passes another implementation that keeps the protocol", async () => {
    await using server = await startForeignServer();
    const report = await checkServer(server.url);
    expect(report, renderCheckReport(report)).toMatchObject({
      passed: true,
      standard: { version: "1.0.0", mode: "simulation" },
    });
    expect(report.checks.filter(({ status }) => status === "skipped")).toMatchObject([
      { id: "seed_honoured", detail: UNSHOWN, notApplicable: true },
    ]);
  });

  test.each([
    ["openapi_version_available", /\/openapi.json answered 200 \{"info":1/],
    ["health_endpoint", /"status":"ill"/],
    ["metadata_endpoint", /answered 200 \{"name":1\}/],
    ["schema_endpoint", /has no object state/],
    ["mcp_endpoint", /POST \/mcp answered 200 \[\]/],
    ["mode_endpoint_consistency", /only \/reset, \/step of/],
    ["episode", /step on \/ws was answered with the error EXECUTION_ERROR: no/],
    ["rewards", /^step 1 returned the reward null, expected a finite number; step 2/],
    ["schemas_hold", /^reset violates the schema in total: must be integer/],
    ["episode_id", /the state after step 1 has the step_count 2, expected 1/],
    ["metadata", /^reset has different metadata in the observation and next to it: note: 1 and 2/],
    ["bad_input", /after the rejection the session does not continue: .*was lost/],
    ["isolated", /another session changed total: 0 and \d+/],
    ["reset_resets", /differs in seen: 0 and 1/],
    ["seed_honoured", /differ first in 0\.observation\.seen: \d+ and \d+/],
    ["workers_agree", /two sessions at the same time differ first in 0\.observation\.seen: 1 and 2/],
    ["capacity", /does not have the integers active_sessions and max_sessions/],
    ["nothing_left", /session \d+ of 12, opened one after the other, was rejected/],
  ] as const)("finds in a server of somebody else that %s is broken, says so, and nothing else", async (id, detail) => {
    await using server = await startForeignServer(id);
    const { checks } = await checkServer(server.url, { rounds: ROUNDS });
    const failed = checks.filter(({ status }) => status === "failed");
    expect(failed).toMatchObject([{ id, detail: expect.stringMatching(detail), remedy: expect.any(String) }]);
  });

  test.each([
    ["validation", "bad_input", /an action with an unknown field was answered with undefined/],
    ["code", "capacity", /session 5 was rejected with the code FULL/],
    ["list", "nothing_left", /12 of 12 sessions are still open/],
    ["recursion", "schemas_hold", /timed out/],
    ["silence", "episode", /^reset .*no answer within 5000 ms/],
    ["binary", "episode", /received a binary frame/],
    ["type", "episode", /answered with the type "state"/],
  ] as const)("finds other ways to break it: %s", async (broken, id, detail) => {
    await using server = await startForeignServer(broken);
    const { checks } = await checkServer(server.url, {
      rounds: ROUNDS,
      timeoutMs: broken === "silence" ? 5_000 : 10_000,
    });
    expect(checks.filter(({ status }) => status === "failed")).toMatchObject([
      { id, detail: expect.stringMatching(detail) },
    ]);
  });

  test("compares with another server, without what always differs and what is excluded", async () => {
    await using one = await startForeignServer();
    await using other = await startForeignServer("other");
    const failed = async (options: CheckServerOptions) =>
      (await checkServer(one.url, { rounds: 3, ...options })).checks.filter(({ status }) => status === "failed");
    expect(await failed({ other: other.url })).toMatchObject([
      {
        id: "workers_agree",
        detail: expect.stringMatching(/two workers differ first in 0\.observation\.seen: 0 and 9/),
      },
    ]);
    expect(await failed({ other: other.url, ignore: ["observation.seen"] })).toEqual([]);
    expect(await failed({ other: other.url, leaveOut: ["workers_agree"] })).toEqual([]);
    expect(await failed({ other: other.url, seeded: false })).toEqual([]);
  });

  test("holds rewards against the declared range, and does not take for shown what no seed changes", async () => {
    await using server = await startForeignServer();
    const { checks } = await checkServer(server.url, { rounds: 3, rewardRange: [0, 0.5], seeded: true });
    expect(checks.filter(({ status }) => status === "failed")).toMatchObject([
      { id: "rewards", detail: expect.stringMatching(/the reward 1, expected 0 to 0.5/) },
    ]);
    expect(checks.filter(({ status }) => status === "skipped")).toMatchObject([
      { id: "seed_honoured", detail: UNSHOWN },
      { id: "workers_agree", detail: UNSHOWN },
    ]);
  });

  test("reports what the actions leave open for a server that does not report its seed", async () => {
    await using server = await startForeignServer();
    const { checks } = await checkServer(server.url, { rounds: 3 });
    expect(checks.find(({ id }) => id === "seed_honoured")).toMatchObject({ status: "skipped", detail: UNSHOWN });
  });

  test("finds two workers that differ also where the actions show nothing of the seed", async () => {
    await using one = await startForeignServer();
    await using other = await startForeignServer("other");
    const { checks } = await checkServer(one.url, { rounds: 3, seeded: true, other: other.url });
    expect(checks.filter(({ status }) => status === "failed")).toMatchObject([{ id: "workers_agree" }]);
  });

  test("says of a server with room for one session what cannot be seen", async () => {
    await using server = await serve(defineCounter().environment, {
      port: 0,
      logLevel: "silent",
      maxConcurrentEnvs: 1,
    });
    const report = await checkServer(server.url, { rounds: 5 });
    expect(report.passed, renderCheckReport(report)).toBe(true);
    expect(report.checks.filter(({ status }) => status === "skipped")).toMatchObject([
      { id: "isolated", detail: "the server accepts only one session at a time", notApplicable: true },
      { id: "seed_honoured" },
      { id: "workers_agree" },
    ]);
  });
});
