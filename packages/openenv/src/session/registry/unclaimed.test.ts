import { afterEach, describe, expect, test, vi } from "vitest";
import { INITIALIZE, send } from "../../../../../test-support/environments/mcp.js";
import { defineDesk } from "../../../../../test-support/environments/tool-environment.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import type { TestSocket } from "../../../../../test-support/sockets/socket.js";
import { sessionCookie } from "../../protocol/http.js";
import type { RunningServer } from "../../server/types.js";

const { start, open } = useServers();
const RESET = { type: "reset", data: {} };
const OBSERVATION = { type: "observation" };
const REFUSED = { data: { code: "CAPACITY_REACHED" } };
const GIVEN_UP = { code: 4000, reason: expect.stringContaining("sent no valid message") };

/** Advances the server's clock. */
function pass(ms = 10_500): void {
  const real = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => real() + ms);
}

afterEach(() => {
  vi.restoreAllMocks();
});

async function openSilent(server: RunningServer, count: number): Promise<TestSocket[]> {
  const sockets = [];
  for (let i = 0; i < count; i++) sockets.push(await open(server));
  return sockets;
}

describe("a socket that has sent no valid message", () => {
  test("keeps its slot for 10 s, and after that until another client needs it", async () => {
    const server = await start({ maxConcurrentEnvs: 3 });
    const [first, second, third] = await openSilent(server, 3);
    const early = await open(server);
    expect(await early.receive()).toMatchObject(REFUSED);
    pass();
    const late = await open(server);
    expect(await late.ask(RESET)).toMatchObject(OBSERVATION);
    expect(await first?.closed).toEqual(GIVEN_UP);
    expect(await second?.ask(RESET)).toMatchObject(OBSERVATION);
    expect(await third?.ask(RESET)).toMatchObject(OBSERVATION);
    expect(server.capacity().active_sessions).toBe(3);
    const tooMany = await open(server);
    expect(await tooMany.receive()).toMatchObject(REFUSED);
  });

  test("includes a socket that sends unreadable messages, on /ws and on /mcp", async () => {
    const server = await start({ maxConcurrentEnvs: 2 });
    const [frames, rpc] = [await open(server), await open(server, "/mcp")];
    expect(await frames.ask("{")).toMatchObject({ type: "error" });
    expect(await frames.ask({ type: "dance" })).toMatchObject({ type: "error" });
    expect(await rpc.ask("{")).toMatchObject({ error: {} });
    pass();
    for (let i = 0; i < 2; i++) expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
    expect(await Promise.all([frames.closed, rpc.closed])).toEqual([GIVEN_UP, GIVEN_UP]);
  });

  test("includes a socket that sends only invalid actions, reset options and methods", async () => {
    const server = await start({ maxConcurrentEnvs: 2 });
    const [frames, rpc] = [await open(server), await open(server, "/mcp")];
    const send = async (): Promise<void> => {
      const invalid = { type: "error", data: { code: "VALIDATION_ERROR" } };
      expect(await frames.ask({ type: "step", data: { amount: "many" } })).toMatchObject(invalid);
      expect(await frames.ask({ type: "reset", data: { seed: -1 } })).toMatchObject(invalid);
      expect(await rpc.ask({ jsonrpc: "2.0", id: 1, method: "dance" })).toMatchObject({ error: { code: -32601 } });
    };
    await send();
    pass();
    await send();
    for (let i = 0; i < 2; i++) expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
    expect(await Promise.all([frames.closed, rpc.closed])).toEqual([GIVEN_UP, GIVEN_UP]);
  });

  test.each([
    ["/ws", RESET],
    ["/ws", { type: "state" }],
    ["/ws", { type: "mcp", data: { jsonrpc: "2.0", id: 1, method: "tools/list" } }],
    ["/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" }],
  ])("does not include a socket with a valid message on %s: %o", async (path, message) => {
    const server = await start({ maxConcurrentEnvs: 1 });
    const socket = await open(server, path);
    await socket.ask(message);
    pass();
    expect(await (await open(server)).receive()).toMatchObject(REFUSED);
    await socket.ask(message);
  });

  test("loses its slot to a waiting client", async () => {
    const server = await start({ maxConcurrentEnvs: 1, queueSize: 1, sessionTimeout: 0.4 });
    const silent = await open(server);
    const waiting = await open(server);
    pass();
    expect(await waiting.ask(RESET)).toMatchObject(OBSERVATION);
    expect(await silent.closed).toEqual(GIVEN_UP);
  });

  test("loses its slot to an HTTP session, after sessions that were not used after their reset", async () => {
    const server = await start({ maxConcurrentEnvs: 2 });
    const reset = async () => {
      const response = await fetch(`${server.url}/reset`, { method: "POST" });
      await response.text();
      return response.headers.get("openenv-session");
    };
    await reset();
    const silent = await open(server);
    pass();
    const kept = await reset();
    expect(kept).not.toBe("none");
    expect(server.capacity().active_sessions).toBe(2);
    await fetch(`${server.url}/state`, { headers: { "openenv-session": kept ?? "" } });
    expect(await reset()).not.toBe("none");
    expect(await silent.closed).toEqual(GIVEN_UP);
  });
});

describe("a session that POST /reset opened and that its client has used", () => {
  const IDLE = 300_500;

  async function request(server: RunningServer, path: string, body?: object, session?: string): Promise<Response> {
    return await fetch(`${server.url}${path}`, {
      method: path === "/state" ? "GET" : "POST",
      headers: { "content-type": "application/json", ...(session && { "openenv-session": session }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  /** Opens a session, uses it once, and returns its id. */
  async function play(server: RunningServer): Promise<string> {
    const id = (await request(server, "/reset", {})).headers.get("openenv-session") ?? "";
    expect((await request(server, "/state", undefined, id)).status).toBe(200);
    return id;
  }

  test("loses its slot after 300 s without a request when another client needs it, and the next call says why", async () => {
    const server = await start({ maxConcurrentEnvs: 2 });
    const [first, second] = [await play(server), await play(server)];
    pass(IDLE - 10_000);
    expect(await (await open(server)).receive()).toMatchObject(REFUSED);
    vi.restoreAllMocks();
    pass(IDLE);
    expect(server.capacity().active_sessions).toBe(2);
    expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
    const answer = await request(server, "/step", { action: {} }, first);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({
      code: "SESSION_ERROR",
      detail: `Session "${first}" was idle for 300 s and was closed to make room for another client. POST /reset without it opens one.`,
    });
    const attaching = await open(server, `/ws?session_id=${first}`);
    const reason = `Session "${first}" was idle for 300 s and was closed to make room for another client.`;
    const refused = { type: "error", data: { code: "SESSION_ERROR", message: reason } };
    expect(await attaching.receive()).toMatchObject(refused);
    expect((await request(server, "/state", undefined, second)).status).toBe(200);
    expect(await (await open(server)).receive()).toMatchObject(REFUSED);
  });

  test("that continued it by cookie keeps its slot for RESUME_GUARANTEE if that is longer than 300 s", async () => {
    const server = await start({ maxConcurrentEnvs: 1, resumeGuarantee: 400, sessionTimeout: 900 });
    const [cookie = ""] = String((await request(server, "/reset", {})).headers.get("set-cookie")).split(";");
    const step = () =>
      fetch(`${server.url}/step`, {
        method: "POST",
        headers: { "content-type": "application/json", cookie },
        body: JSON.stringify({ action: { amount: 1 } }),
      });
    expect(await (await step()).json()).toMatchObject({ observation: { count: 1 } });
    pass(IDLE);
    expect(await (await open(server)).receive()).toMatchObject(REFUSED);
    vi.restoreAllMocks();
    pass(400_500);
    expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
    vi.restoreAllMocks();
  });

  test("counts as available capacity after 300 s without a request", async () => {
    const server = await start({ maxConcurrentEnvs: 2 });
    await play(server);
    const second = await play(server);
    expect(server.capacity()).toMatchObject({ available_slots: 0, is_at_capacity: true });
    pass(IDLE);
    expect(server.capacity()).toMatchObject({ active_sessions: 2, available_slots: 2, is_at_capacity: false });
    await request(server, "/state", undefined, second);
    expect(server.capacity()).toMatchObject({ active_sessions: 2, available_slots: 1, is_at_capacity: false });
  });

  test("loses its slot before a session with a more recent request", async () => {
    const server = await start({ maxConcurrentEnvs: 2 });
    const [first, second] = [await play(server), await play(server)];
    await request(server, "/state", undefined, first);
    pass(IDLE);
    expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
    expect((await request(server, "/state", undefined, second)).status).toBe(404);
    expect((await request(server, "/state", undefined, first)).status).toBe(200);
  });

  test("keeps its slot while a socket is attached", async () => {
    const server = await start({ maxConcurrentEnvs: 1 });
    const id = await play(server);
    const socket = await open(server, `/ws?session_id=${id}`);
    pass(IDLE);
    expect(server.capacity().is_at_capacity).toBe(true);
    expect(await (await open(server)).receive()).toMatchObject(REFUSED);
    expect(await socket.ask({ type: "state" })).toMatchObject({ type: "state" });
    socket.ws.close();
    await socket.closed;
    vi.restoreAllMocks();
    pass(2 * IDLE);
    await expect.poll(() => server.capacity().is_at_capacity).toBe(false);
    expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
  });

  test("keeps its slot while a page watches it", async () => {
    const server = await start({ maxConcurrentEnvs: 1 });
    const id = await play(server);
    const page = await open(server, "/ws/ui", { cookie: `${sessionCookie(new URL(server.url).host)}=${id}` });
    expect(await page.receive()).toMatchObject({ type: "state_update" });
    pass(IDLE);
    expect(server.capacity().is_at_capacity).toBe(true);
    expect(await (await open(server)).receive()).toMatchObject(REFUSED);
    page.ws.close();
    await expect.poll(() => server.capacity().is_at_capacity).toBe(false);
    expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
    expect((await request(server, "/state", undefined, id)).status).toBe(404);
  });

  test("keeps its slot while an MCP client listens, and for 300 s after that", async () => {
    const server = await start({ maxConcurrentEnvs: 1 }, defineDesk());
    const id = await play(server);
    const joined = await send(server.url, INITIALIZE, { "openenv-session": id });
    await joined.text();
    expect(joined.headers.get("mcp-session-id")).toBe(id);
    const headers = { accept: "text/event-stream", "mcp-session-id": id };
    const leaving = new AbortController();
    const stream = await fetch(`${server.url}/mcp`, { headers, signal: leaving.signal });
    expect(stream.status).toBe(200);
    pass(IDLE);
    expect(server.capacity().is_at_capacity).toBe(true);
    expect(await (await open(server)).receive()).toMatchObject(REFUSED);
    const lastActivity = async () => (await server.sessions())[0]?.last_activity_at;
    const before = await lastActivity();
    leaving.abort();
    await expect.poll(lastActivity).not.toBe(before);
    expect(server.capacity().is_at_capacity).toBe(true);
    vi.restoreAllMocks();
    pass(2 * IDLE);
    expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
    expect((await request(server, "/state", undefined, id)).status).toBe(404);
  });

  test("differs from a session of openenv/session/create, which always keeps its slot", async () => {
    const server = await start({ maxConcurrentEnvs: 1 });
    const rpc = { jsonrpc: "2.0", id: 1, method: "openenv/session/create", params: {} };
    expect((await request(server, "/mcp", rpc)).status).toBe(200);
    pass(IDLE);
    expect(await (await open(server)).receive()).toMatchObject(REFUSED);
  });
});
