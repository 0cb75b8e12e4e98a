import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import { defineContract } from "../../contract/contract.js";
import { defineEnvironment } from "../../environment/define-environment.js";
import type { RunningServer } from "../types.js";

const { start } = useServers();

type Json = Record<string, unknown>;

async function post(server: RunningServer, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
}

async function get(server: RunningServer, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(server.url + path, { headers });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
}

/** With headers that fetch() would not send. */
function rawRequest(
  server: RunningServer,
  path: string,
  options: { method?: string; headers: Record<string, string> },
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(server.url + path, options, async (response) => {
      resolve({ status: response.statusCode ?? 0, body: await text(response) });
    });
    request.on("error", reject).end();
  });
}

const rawGet = async (server: RunningServer, path: string, headers: Record<string, string>): Promise<number> =>
  (await rawRequest(server, path, { headers })).status;

const step = (amount: number) => ({ action: { amount } });

afterEach(() => {
  vi.unstubAllEnvs();
});

test("/health refuses a caller that looks for a server of another deployment", async () => {
  vi.stubEnv("OPENENV_DEPLOYMENT", "slurm-1");
  const own = await start();
  vi.stubEnv("OPENENV_DEPLOYMENT", undefined);
  const nameless = await start();
  const ask = (server: RunningServer, deployment?: string) =>
    get(server, "/health", deployment === undefined ? {} : { "openenv-deployment": deployment });
  expect(await ask(own)).toMatchObject({ status: 200, body: { status: "healthy" } });
  expect(await ask(own, "slurm-1")).toMatchObject({ status: 200, body: { status: "healthy" } });
  expect(await ask(own, "slurm-2")).toMatchObject({ status: 421, body: { status: "unhealthy" } });
  expect(await ask(nameless, "slurm-1")).toMatchObject({ status: 421, body: { status: "unhealthy" } });
});

describe("HTTP sessions", () => {
  test("a reset names a session that step and state continue, by header", async () => {
    const server = await start();
    const reset = await post(server, "/reset", { start: 3 });
    const id = reset.headers.get("openenv-session") ?? "";
    expect(id).toMatch(/^[\w-]{36}$/);
    const headers = { "openenv-session": id };
    await post(server, "/step", step(1), headers);
    const second = await post(server, "/step", step(1), headers);
    expect(second.body).toEqual({ observation: { metadata: {}, count: 5 }, reward: 1, done: false, metadata: null });
    expect(second.headers.get("openenv-session")).toBe(id);
    expect((await get(server, "/state", headers)).body).toMatchObject({ step_count: 2, total: 2 });
    expect(server.capacity().active_sessions).toBe(1);
  });

  test("a reset's body is checked once, and what is wrong with it is named by its path from the body", async () => {
    let checks = 0;
    const contract = defineContract({
      name: "checked_env",
      action: z.object({}),
      observation: z.object({}),
      reset: z.object({ level: z.int().refine((level) => ++checks > 0 && level > 0, "must be positive") }),
    });
    const reset = () => ({ observation: {} });
    const server = await start({}, { environment: defineEnvironment(contract, () => ({ reset, step: reset })) });
    checks = 0;
    const first = await post(server, "/reset", { level: 1 });
    expect([first.status, checks]).toEqual([200, 1]);
    const headers = { "openenv-session": first.headers.get("openenv-session") ?? "" };
    expect([(await post(server, "/reset", { level: 2 }, headers)).status, checks]).toEqual([200, 2]);
    for (const named of [{}, headers]) {
      const wrong = await post(server, "/reset", { level: -1 }, named);
      expect(wrong).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "level"] }] } });
    }
  });

  test("the cookie does the same", async () => {
    const server = await start();
    const cookie = (await post(server, "/reset", { start: 3 })).headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(new RegExp(`^openenv_session_${server.port}=[\\w-]+; Path=/; HttpOnly; SameSite=Lax$`));
    const headers = { cookie: cookie.split(";")[0] ?? "" };
    expect((await post(server, "/step", step(1), headers)).body).toMatchObject({ observation: { count: 4 } });
  });

  test("the cookie of another port is not looked at, and the header none means none", async () => {
    const [one, other] = [await start(), await start()];
    const cookie = (await post(one, "/reset")).headers.get("set-cookie")?.split(";")[0] ?? "";
    expect(await post(other, "/step", step(1), { cookie })).toMatchObject({ status: 200 });
    const none = await post(one, "/step", step(1), { cookie, "openenv-session": "none" });
    expect([none.status, none.headers.get("openenv-session")]).toEqual([200, "none"]);
  });

  test("without a session each request has a fresh environment, and the answer says so", async () => {
    const server = await start();
    for (let i = 0; i < 2; i++) {
      const answer = await post(server, "/step", step(3));
      expect(answer.body).toMatchObject({ observation: { count: 3 } });
      expect(answer.headers.get("openenv-session")).toBe("none");
    }
    expect(server.capacity().active_sessions).toBe(0);
  });

  test("a session that is gone is SESSION_ERROR, never a fresh environment", async () => {
    const server = await start({ sessionTimeout: 0.05 });
    const id = (await post(server, "/reset")).headers.get("openenv-session") ?? "";
    await waitFor(() => server.capacity().active_sessions === 0);
    const answer = await post(server, "/step", step(1), { "openenv-session": id });
    expect(answer).toMatchObject({ status: 404, body: { code: "SESSION_ERROR" } });
    const cookie = `other=1; openenv_session_${server.port}=${id}`;
    expect(await post(server, "/step", step(1), { cookie })).toMatchObject({ status: 404 });
    expect(await post(server, "/reset", {}, { cookie })).toMatchObject({ status: 200 });
  });

  test("resets without further steps never use up the capacity", async () => {
    const counter = defineCounter();
    const server = await start({ maxConcurrentEnvs: 2 }, counter);
    const used = (await post(server, "/reset")).headers.get("openenv-session") ?? "";
    await post(server, "/step", step(1), { "openenv-session": used });
    for (let i = 0; i < 10; i++) expect((await post(server, "/reset")).status).toBe(200);
    expect(server.capacity().active_sessions).toBe(2);
    expect((await post(server, "/step", step(1), { "openenv-session": used })).body).toMatchObject({
      observation: { count: 2 },
    });
    expect(counter.log.created - counter.log.closed).toBe(2);
  });

  test("at capacity a reset is answered as the reference does, with no session kept", async () => {
    const server = await start({ maxConcurrentEnvs: 1 });
    const id = (await post(server, "/reset")).headers.get("openenv-session") ?? "";
    await post(server, "/step", step(1), { "openenv-session": id });
    const other = await post(server, "/reset");
    expect([other.status, other.headers.get("openenv-session")]).toEqual([200, "none"]);
  });

  test("a reset that fails keeps no session", async () => {
    const server = await start();
    const answer = await post(server, "/reset", { start: -1 });
    expect(answer).toMatchObject({ status: 500, body: { code: "EXECUTION_ERROR", detail: "start must not be -1" } });
    expect(answer.headers.get("openenv-session")).toBe("none");
    expect(server.capacity().active_sessions).toBe(0);
  });
});

describe("time limits", () => {
  test("timeout_s is honoured: 504, the call is aborted, the environment closed", async () => {
    const counter = defineCounter();
    const server = await start({}, counter);
    const answer = await post(server, "/step", { ...step(60), timeout_s: 0.05 });
    expect(answer).toMatchObject({ status: 504, body: { code: "TIMEOUT" } });
    expect(counter.log.aborted).toBe(1);
  });

  test("a client that leaves ends the environment of its request", async () => {
    const counter = defineCounter();
    const server = await start({}, counter);
    const controller = new AbortController();
    const call = fetch(`${server.url}/step`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(step(60)),
      signal: controller.signal,
    });
    await waitFor(() => counter.log.begun === 1);
    controller.abort();
    await expect(call).rejects.toThrow();
    await waitFor(() => counter.log.closed === 1);
    expect(counter.log).toMatchObject({ created: 1, aborted: 1, closed: 1 });
  });
});

describe("bad requests", () => {
  test.each([
    ["/step", "{oops", [{ type: "json_invalid", loc: ["body", 1] }]],
    ["/step", undefined, [{ type: "missing", loc: ["body"] }]],
    ["/step", { action: { amount: "x" } }, [{ type: "int_parsing", loc: ["body", "action", "amount"] }]],
    ["/step", { action: {}, timeout_s: -1 }, [{ type: "greater_than", loc: ["body", "timeout_s"] }]],
    ["/reset", { seed: -1 }, [{ type: "greater_than_equal", loc: ["body", "seed"] }]],
    ["/reset", [1], [{ type: "model_attributes_type", loc: ["body"] }]],
  ])("%s with %j is 422 and names the place", async (path, body, detail) => {
    expect(await post(await start(), path, body)).toMatchObject({ status: 422, body: { detail } });
  });

  test("a body over the limit is 413", async () => {
    const server = await start({ maxMessageBytes: 2048 });
    expect(await post(server, "/reset", { episode_id: "x".repeat(5_000) })).toMatchObject({ status: 413 });
  });

  test("unknown paths, methods and trailing slashes are answered as by the reference", async () => {
    const server = await start();
    expect(await get(server, "/nope")).toMatchObject({ status: 404, body: { detail: "Not Found" } });
    const method = await get(server, "/reset");
    expect([method.status, method.headers.get("allow")]).toEqual([405, "POST"]);
    const slash = await fetch(`${server.url}/health/?x=1`, { redirect: "manual" });
    expect([slash.status, slash.headers.get("location")]).toEqual([307, "/health?x=1"]);
  });
});

describe("who may ask", () => {
  test("GET /sessions is for the holder of the operator's token, also through a proxy", async () => {
    const server = await start({ operatorToken: "secret" });
    await post(server, "/reset", { episode_id: "e" });
    const through = { "x-forwarded-for": "203.0.113.7" };
    const { status, body } = await get(server, "/sessions", { ...through, authorization: "Bearer secret" });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      capacity: { active_sessions: 1, max_sessions: 100 },
      sessions: [{ episode_id: "e", step_count: 0, environment_type: "counter_env" }],
    });
    expect(await get(server, "/sessions", { ...through, authorization: "Bearer guess!" })).toMatchObject({
      status: 401,
    });
  });

  test("without a token there is no operator, on this machine and through any proxy", async () => {
    const server = await start({ allowedOrigins: ["*"] });
    const { status, body, headers } = await get(server, "/sessions");
    expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(body).toMatchObject({ detail: expect.stringContaining("set OPENENV_OPERATOR_TOKEN") });
    for (const sent of [
      { origin: server.url },
      { "x-forwarded-for": "203.0.113.7" },
      { origin: "https://a.example" },
    ]) {
      expect(await get(server, "/sessions", sent)).toMatchObject({ status: 401 });
    }
  });

  test("a foreign origin may not post, a foreign Host may not even read", async () => {
    const server = await start();
    expect(await post(server, "/reset", {}, { origin: "https://example.org" })).toMatchObject({ status: 403 });
    expect(await rawGet(server, "/state", { host: "rebound.example.org" })).toBe(403);
    expect(await get(server, "/health", { origin: "https://example.org" })).toMatchObject({ status: 200 });
  });

  test("on an address for every interface a foreign name is for clients that are not browsers", async () => {
    const server = await start({ host: "0.0.0.0", operatorToken: "secret", allowedHosts: ["env.example.org"] });
    const authorization = "Bearer secret";
    const evil = { host: "evil.test:8000", origin: "http://evil.test:8000" };
    const own = { host: "env.example.org", origin: "http://env.example.org" };
    const service = { host: "servers.default.svc:8000" };
    const postReset = (headers: Record<string, string>) => rawRequest(server, "/reset", { method: "POST", headers });
    expect(await postReset(evil)).toEqual({
      status: 403,
      body: expect.stringContaining("add evil.test to ALLOWED_HOSTS"),
    });
    expect(await rawGet(server, "/health", evil)).toBe(403);
    expect((await postReset(own)).status).toBe(200);
    expect((await postReset(service)).status).toBe(200);
    for (const path of ["/sessions", "/metrics", "/web/server"]) {
      expect(await rawRequest(server, path, { headers: { ...service, authorization } })).toEqual({
        status: 403,
        body: expect.stringContaining("add servers.default.svc to ALLOWED_HOSTS"),
      });
      expect(await rawGet(server, path, { host: "env.example.org", authorization })).toBe(200);
      expect(await rawGet(server, path, { host: "10.0.0.2:8000", authorization })).toBe(200);
    }
  });

  test("the name that Hugging Face gives a Space needs no setting", async () => {
    process.env["SPACE_HOST"] = "owner-counter.hf.space";
    try {
      const server = await start({ host: "0.0.0.0" });
      const headers = { host: "owner-counter.hf.space", origin: "https://owner-counter.hf.space" };
      expect((await rawRequest(server, "/reset", { method: "POST", headers })).status).toBe(200);
    } finally {
      delete process.env["SPACE_HOST"];
    }
  });

  test("an allowed origin gets the headers that let its page read the answer", async () => {
    const server = await start({ allowedOrigins: ["https://example.org"] });
    const { headers, status } = await post(server, "/reset", {}, { origin: "https://example.org" });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([200, "https://example.org"]);
    const preflight = await fetch(`${server.url}/reset`, {
      method: "OPTIONS",
      headers: { origin: "https://example.org", "access-control-request-method": "POST" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-methods")]).toEqual([204, "POST"]);
  });
});

describe("production", () => {
  test("has no control routes, and says so in its description", async () => {
    const server = await start({ mode: "production" });
    expect(await post(server, "/reset")).toMatchObject({ status: 404 });
    const { paths } = (await get(server, "/openapi.json")).body as { paths: Json };
    expect(paths).not.toHaveProperty("/reset");
    expect(paths).toHaveProperty("/mcp");
  });
});
