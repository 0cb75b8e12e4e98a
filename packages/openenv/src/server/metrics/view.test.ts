import { describe, expect, onTestFinished, test } from "vitest";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";
import { STATUS } from "../../protocol/http.js";
import type { ServerView } from "../../protocol/web.js";
import { COUNTED, startCounts } from "../../session/statistics/metrics.js";
import type { RunningServer } from "../types.js";
import { METRICS } from "./metrics.js";

const { start: serve, open } = useServers();
const start: typeof serve = (options, served) => serve({ ...WITH_OPERATOR, ...options }, served);

async function view(server: RunningServer, query = ""): Promise<ServerView> {
  const response = await fetchAsOperator(`${server.url}/web/server${query}`);
  expect(response.status).toBe(200);
  expect(response.headers.get("cache-control")).toBe("no-store");
  return (await response.json()) as ServerView;
}

const RESET = { type: "reset", data: {} };
const step = (amount: number) => ({ type: "step", data: { amount } });

describe("GET /web/server", () => {
  test("reports sessions, steps, latency, errors and the process", async () => {
    const server = await start({ maxConcurrentEnvs: 5, queueSize: 3, sessionTimeout: 60 });
    const socket = await open(server);
    await socket.ask(RESET);
    for (let i = 0; i < 3; i++) await socket.ask(step(1));
    await socket.ask(step(50));
    await socket.ask(RESET);
    await socket.ask(step(2));
    await socket.ask(step(13));
    await socket.ask(step(1_000));
    await socket.ask("no json");
    expect(await view(server)).toEqual({
      at: expect.any(Number),
      server_version: expect.any(String),
      name: "counter_env",
      version: expect.any(String),
      mode: "simulation",
      uptime_s: expect.any(Number),
      draining: false,
      paused: false,
      journal: "off",
      capacity: { active_sessions: 1, max_sessions: 5, available_slots: 4, is_at_capacity: false },
      in_use: 1,
      // The sessions with a call in the last second.
      stepping: expect.any(Number),
      waiting: 0,
      queue_size: 3,
      steps: 5,
      steps_per_second: expect.any(Number),
      latency_ms: null,
      errors: { EXECUTION_ERROR: 1, VALIDATION_ERROR: 1, INVALID_JSON: 1 },
      recent_errors: [
        { code: "INVALID_JSON", step: 1 },
        { code: "VALIDATION_ERROR", step: 1 },
        { code: "EXECUTION_ERROR", step: 1, message: "unlucky amount" },
      ].map((error) => expect.objectContaining({ ...error, worker: 0, session_id: expect.any(String) })),
      // Those of the same millisecond have no order.
      failures: expect.arrayContaining(
        [
          { code: "INVALID_JSON", count: 1 },
          { code: "VALIDATION_ERROR", count: 1 },
          { code: "EXECUTION_ERROR", count: 1, message: "unlucky amount", example: "unlucky amount", step: 1 },
        ].map((failure) => expect.objectContaining({ ...failure, worker: 0, session_id: expect.any(String) })),
      ),
      errors_by_minute: expect.toSatisfy(
        (counts: number[]) => counts.length === 60 && counts.reduce((sum, count) => sum + count) === 3,
      ),
      workers: [
        {
          worker: 0,
          pid: process.pid,
          uptime_s: expect.any(Number),
          sessions: 1,
          unclaimed: 0,
          max_sessions: 5,
          waiting: 0,
          steps: 5,
          steps_per_second: expect.any(Number),
          cpu_s: expect.any(Number),
          cpu_share: expect.any(Number),
          rss_bytes: expect.any(Number),
          loop_lag_ms: expect.any(Number),
          sockets: 1,
          descriptors: process.platform === "linux" ? expect.any(Number) : null,
          max_descriptors: expect.toBeOneOf([expect.any(Number), null]),
        },
      ],
      silent_workers: [],
      restarts: 0,
      sessions: [
        {
          session_id: expect.any(String),
          created_at: expect.any(Number),
          last_activity_at: expect.any(Number),
          step_count: 1,
          environment_type: "counter_env",
          episode_id: expect.any(String),
          attached: true,
          client: "websocket",
          state: expect.toBeOneOf(["stepping", "idle"]),
          busy_s: null,
          detached_s: null,
          episodes: 2,
          steps: 5,
          reward: 2,
          done: false,
          failed_steps: 1,
          task: { seed: undefined, split: undefined, index: undefined },
          worker: 0,
          handle: expect.stringMatching(/^[\w-]{12}$/),
        },
      ],
      found_sessions: 1,
      limits: {
        session_timeout_s: 60,
        step_timeout_s: null,
        max_message_bytes: 16 * 1024 * 1024,
        queue_timeout_s: 30,
      },
    });
  });

  test("is there in production mode, and reports whether the server drains, is paused and has a journal", async () => {
    const server = await start({ mode: "production", journal: "memory", drainMs: 20_000 });
    const socket = await open(server);
    expect(await view(server)).toMatchObject({ draining: false, paused: false, journal: "ok", in_use: 1 });
    await fetchAsOperator(`${server.url}/sessions/pause`, {}, "POST");
    expect(await view(server)).toMatchObject({ draining: false, paused: true });
    await fetchAsOperator(`${server.url}/sessions/resume`, {}, "POST");
    const drained = server.drain();
    expect(await view(server)).toMatchObject({ draining: true, paused: false, in_use: 1 });
    socket.ws.terminate();
    await server.close();
    await drained;
  });

  test("reports rates and latencies while it is read", async () => {
    const server = await start();
    const socket = await open(server);
    await socket.ask(RESET);
    await view(server);
    let seen = await view(server);
    while (seen.latency_ms === null) {
      await socket.ask(step(50));
      seen = await view(server);
    }
    expect(seen.steps_per_second).toBeGreaterThan(0);
    expect(seen.latency_ms.p50).toBeGreaterThanOrEqual(40);
    expect(seen.latency_ms.p99).toBeGreaterThanOrEqual(seen.latency_ms.p50);
  });

  test("reports which step is slow", async () => {
    const server = await start();
    const socket = await open(server);
    await socket.ask(RESET);
    socket.send(step(60));
    let seen = await view(server);
    while (seen.sessions[0]?.busy_s === null) seen = await view(server);
    expect(seen.sessions[0]?.busy_s).toBeGreaterThanOrEqual(0);
    expect(seen.stepping).toBe(1);
  });

  test("reports the transport of each client, and counts failures on every transport", async () => {
    const server = await start({ maxConcurrentEnvs: 4 });
    const [plain, batch] = [await open(server), await open(server, "/ws?openenv=batch")];
    await plain.ask(RESET);
    await batch.ask({ type: "open_many", data: { count: 1 } });
    await batch.ask({ type: "step_many", data: { items: [{ session: 0, data: { amount: 1 } }, { session: 9 }] } });
    const post = (path: string, body: object, headers = {}) =>
      fetch(server.url + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
    const reset = await post("/reset", {});
    await post("/step", { action: { amount: 13 } }, { "openenv-session": reset.headers.get("openenv-session") });
    await post("/step", {});
    await post("/mcp", { jsonrpc: "2.0", id: 1, method: "openenv/session/create" });
    await post("/mcp", { jsonrpc: "2.0", id: 2, method: "openenv/session/create" });
    const { sessions, errors } = await view(server);
    expect(sessions.map(({ client }) => client).sort()).toEqual(["batch", "http", "mcp", "websocket"]);
    expect(sessions.find(({ client }) => client === "batch")?.handle).toMatch(/^[\w-]{12}\.0$/);
    expect(errors).toEqual({ VALIDATION_ERROR: 2, EXECUTION_ERROR: 2, CAPACITY_REACHED: 1 });
  });

  test("lists the sessions of a query, up to its limit", async () => {
    const server = await start();
    const sockets = [];
    for (let i = 0; i < 4; i++) {
      const socket = await open(server);
      await socket.ask({ type: "reset", data: { episode_id: `episode-${i}` } });
      sockets.push(socket);
      // Sessions that begin in the same millisecond have no order.
      const now = Date.now();
      while (Date.now() === now) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await sockets[2]?.ask(step(1));
    const { sessions, found_sessions, capacity } = await view(server, "?limit=2&sort=step");
    expect(sessions.map(({ episode_id }) => episode_id)).toEqual(["episode-2", "episode-0"]);
    expect([found_sessions, capacity.active_sessions]).toEqual([4, 4]);
    const found = await view(server, "?find=websocket%20episode-3");
    expect([found.sessions.map(({ episode_id }) => episode_id), found.found_sessions]).toEqual([["episode-3"], 1]);
    expect((await view(server, "?limit=0")).sessions).toEqual([]);
    const pages = [0, 2, 9].map((offset) => view(server, `?limit=2&sort=session&order=asc&offset=${offset}`));
    const [first, second, none] = (await Promise.all(pages)).map((page) => page.sessions.map((one) => one.session_id));
    expect([...(first ?? []), ...(second ?? [])]).toEqual(
      (await view(server, "?sort=session&order=asc")).sessions.map((one) => one.session_id),
    );
    expect(none).toEqual([]);
    expect((await view(server, "?limit=x")).sessions).toHaveLength(4);
  });

  test("names the session and the step of each error of a batch, and counts errors that differ by numbers as one", async () => {
    const server = await start();
    const batch = await openTestSocket(`${server.url}/ws?openenv=batch`);
    onTestFinished(() => batch[Symbol.asyncDispose]());
    await batch.ask({ type: "open_many", data: { count: 3 } });
    const items = (data: object) => [0, 1, 2].map((session) => ({ session, ...data }));
    await batch.ask({ type: "reset_many", data: { items: items({}) } });
    await batch.ask({ type: "step_many", data: { items: items({ data: { amount: 13 } }) } });
    for (const amount of [1_000, 2_000])
      await batch.ask({ type: "step_many", data: { items: items({ data: { amount } }) } });
    const { recent_errors, failures, sessions } = await view(server);
    const ids = sessions.map(({ session_id }) => session_id).sort();
    for (const at of [0, 3, 6]) {
      const three = recent_errors.slice(at, at + 3);
      expect(three.map(({ session_id }) => session_id).sort()).toEqual(ids);
      expect(three.every(({ step }) => step === 0)).toBe(true);
    }
    expect(failures.map(({ code, count }) => [code, count])).toEqual([
      ["VALIDATION_ERROR", 6],
      ["EXECUTION_ERROR", 3],
    ]);
  });

  test("keeps the latest 50 errors, each shortened", async () => {
    const server = await start();
    const socket = await open(server);
    for (let i = 0; i < 60; i++) await socket.ask({ type: `unknown ${i} ${"x".repeat(1_000)}` });
    const { errors, recent_errors } = await view(server);
    expect(errors).toEqual({ UNKNOWN_TYPE: 60 });
    expect(recent_errors).toHaveLength(50);
    expect(recent_errors[0]?.message).toContain("unknown 59");
    expect(recent_errors[0]?.message.length).toBeLessThanOrEqual(500);
  });

  test.each(["/web/server", "/metrics", "/sessions"])("as %s is for operators", async (path) => {
    const without = await serve();
    const request = async ({ url }: RunningServer, headers: Record<string, string> = {}) => {
      const response = await fetch(url + path, { headers });
      return response.status === 200 ? 200 : `${response.status} ${await response.text()}`;
    };
    const noOperator = expect.stringMatching(/^401 .*no operator: set OPENENV_OPERATOR_TOKEN/);
    expect(await request(without)).toEqual(noOperator);
    expect(await request(without, { authorization: "Bearer " })).toEqual(noOperator);
    expect(await request(without, { authorization: "Bearer undefined" })).toEqual(noOperator);
    const guarded = await serve({ operatorToken: "letmein", orchestratorToken: "drive" });
    const refused = expect.stringMatching(/^401 .*send the value of OPENENV_OPERATOR_TOKEN/);
    for (const token of ["letme", "letmein2", "drive"]) {
      expect(await request(guarded, { authorization: `Bearer ${token}` })).toEqual(refused);
    }
    expect(await request(guarded)).toEqual(refused);
    expect(await request(guarded, { authorization: "Bearer letmein" })).toBe(200);
    expect(await request(guarded, { authorization: "Bearer letmein", "x-forwarded-for": "203.0.113.7" })).toBe(200);
  });
});

describe("GET /metrics", () => {
  test("has the labels that the reference lists", async () => {
    const text = await (await fetchAsOperator(`${(await start({ journal: "memory" })).url}/metrics`)).text();
    const metrics: Record<string, { labels?: readonly string[]; readAll?: unknown }> = METRICS;
    const sampled = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = ""]) => name);
    expect(sampled.length).toBeGreaterThan(25);
    for (const name of sampled) {
      const pairs = new RegExp(`^${name}(?:_count)?(?:\\{(.*)\\})? `, "m").exec(text)?.[1] ?? "";
      const { labels = [], readAll } = metrics[name] ?? {};
      const found = [...pairs.matchAll(/(\w+)="/g)].map(([, label]) => label);
      expect(found, name).toEqual(readAll === undefined ? ["worker", ...labels] : labels);
    }
  });

  test("is available in production, in the text format of Prometheus", async () => {
    const server = await start({ mode: "production", maxConcurrentEnvs: 7 });
    const socket = await open(server);
    await socket.ask(RESET);
    for (let i = 0; i < 5; i++) await socket.ask(step(1));
    await socket.ask(step(1_000));
    const response = await fetchAsOperator(`${server.url}/metrics`);
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const text = await response.text();
    const lines = text.split("\n");
    expect(lines.at(-1)).toBe("");
    for (const line of lines.slice(0, -1)) {
      expect(line).toMatch(
        /^(# HELP \w+ \S.*|# TYPE \w+ (counter|gauge|histogram)|\w+(\{(\w+="[^"]*",?)+\})? -?[\d.e+-]+)$/,
      );
    }
    expect(lines).toContain('openenv_sessions{worker="0"} 1');
    expect(lines).toContain('openenv_sessions_max{worker="0"} 7');
    expect(lines).toContain('openenv_sessions_opened_total{worker="0"} 1');
    expect(lines).toContain('openenv_steps_total{worker="0"} 5');
    expect(lines).toContain('openenv_errors_total{worker="0",code="VALIDATION_ERROR",fault="client"} 1');
    expect(lines).toContain('openenv_websockets{worker="0"} 1');
    expect(lines).toContain("openenv_workers 1");
    expect(text).toMatch(
      /^openenv_info\{environment="counter_env",version="1\.0\.0",mode="production",server_version="\d[^"]*"\} 1$/m,
    );
    for (const name of ["process_cpu_seconds_total", "process_resident_memory_bytes"]) {
      expect(text).toMatch(new RegExp(`^${name}\\{worker="0"\\} [\\d.e-]+$`, "m"));
    }
  });

  test("has a histogram whose buckets rise to the count of all steps", async () => {
    const server = await start();
    const socket = await open(server);
    await socket.ask(RESET);
    for (let i = 0; i < 20; i++) await socket.ask(step(0));
    await socket.ask(step(50));
    const text = await (await fetchAsOperator(`${server.url}/metrics`)).text();
    const found = [...text.matchAll(/^openenv_step_duration_seconds_bucket\{worker="0",le="([^"]+)"\} (\d+)$/gm)];
    const limits = found.map(([, le]) => (le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le)));
    const counts = found.map(([, , count]) => Number(count));
    expect(limits[0]).toBe(0.000015625);
    expect(limits.at(-2)).toBe(524.288);
    expect(limits).toEqual([...limits].sort((a, b) => a - b));
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    expect(counts.at(-1)).toBe(21);
    expect(counts[limits.indexOf(0.032)]).toBeLessThan(21);
    expect(text).toMatch(/^openenv_step_duration_seconds_count\{worker="0"\} 21$/m);
    const sum = Number(/^openenv_step_duration_seconds_sum\{worker="0"\} (\S+)$/m.exec(text)?.[1]);
    expect(sum).toBeGreaterThan(0.04);
  });

  test("has every error, rejection and time at 0 from the start", async () => {
    const server = await start();
    const text = await (await fetchAsOperator(`${server.url}/metrics`)).text();
    const codes = [...text.matchAll(/^openenv_errors_total\{worker="0",code="(\w+)",fault="\w+"\} 0$/gm)];
    expect([...new Set(codes.map(([, code]) => code))].sort()).toEqual(Object.keys(STATUS).sort());
    const reasons = [...text.matchAll(/^openenv_rejections_total\{worker="0",reason="(\w+)"\} 0$/gm)];
    expect(reasons.map(([, reason]) => reason)).toEqual(Object.keys(startCounts(COUNTED).openenv_rejections_total));
    for (const [name, { type }] of Object.entries(METRICS)) {
      if (type === "histogram") expect(text).toMatch(new RegExp(`^${name}_count\\{worker="0"\\} 0$`, "m"));
    }
  });

  test("does not count closed sockets and sessions", async () => {
    const server = await start();
    const socket = await open(server);
    await socket.ask(RESET);
    socket.ws.terminate();
    await waitFor(() => server.capacity().active_sessions === 0);
    const text = await (await fetchAsOperator(`${server.url}/metrics`)).text();
    expect(text).toContain('openenv_sessions{worker="0"} 0');
    expect(text).toContain('openenv_websockets{worker="0"} 0');
  });
});
