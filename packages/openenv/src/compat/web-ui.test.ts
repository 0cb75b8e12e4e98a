import { describe, expect, test } from "vitest";
import * as z from "zod";
import { useServers, waitFor } from "../../../../test-support/servers/servers.js";
import { defineContract, defineEnvironment } from "../index.js";
import type { RunningServer } from "../server/types.js";

const { start, open } = useServers();

interface Answer {
  status: number;
  body: Record<string, unknown> & { detail: { type: string; loc: (string | number)[] }[] };
}

/** A browser: it keeps its cookie. */
function visitor(server: RunningServer) {
  const self = {
    cookie: "",
    async ask(method: string, path: string, body?: unknown): Promise<Answer> {
      const response = await fetch(server.url + path, {
        method,
        headers: { "content-type": "application/json", ...(self.cookie && { cookie: self.cookie }) },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      self.cookie = response.headers.get("set-cookie")?.split(";")[0] ?? self.cookie;
      return { status: response.status, body: (await response.json()) as Answer["body"] };
    },
    reset: (body?: unknown) => self.ask("POST", "/web/reset", body),
    step: (action: unknown) => self.ask("POST", "/web/step", { action }),
    state: () => self.ask("GET", "/web/state"),
  };
  return self;
}

describe("the routes of the Python package's web interface", () => {
  test("give each visitor a separate session", async () => {
    const server = await start();
    const [ada, bob] = [visitor(server), visitor(server)];
    expect(await ada.reset({ seed: 1, episode_id: "a", start: 2, nope: 1 })).toEqual({
      status: 200,
      body: { observation: { count: 2, metadata: {} }, reward: null, done: false },
    });
    await bob.reset();
    await ada.step({ amount: 3 });
    await bob.step({ amount: 1 });
    expect(await ada.step({ amount: 1 })).toEqual({
      status: 200,
      body: { observation: { count: 6, metadata: {} }, reward: 1, done: false },
    });
    expect((await ada.state()).body).toEqual({ episode_id: "a", step_count: 2, total: 4 });
    expect((await bob.state()).body).toMatchObject({ step_count: 1, total: 1 });
    expect(server.capacity().active_sessions).toBe(2);
    expect(ada.cookie).toMatch(/^openenv_session_\d+=/);
  });

  test("answer a visitor without a session with the state of a new environment, and keep no session", async () => {
    const server = await start();
    expect(await visitor(server).state()).toEqual({
      status: 200,
      body: { episode_id: null, step_count: 0, total: 0 },
    });
    await waitFor(() => server.capacity().active_sessions === 0);
  });

  test("begin again after the session has ended", async () => {
    const server = await start({ sessionTimeout: 0.05 });
    const ada = visitor(server);
    await ada.reset();
    const { cookie } = ada;
    await waitFor(() => server.capacity().active_sessions === 0);
    expect((await ada.reset({ start: 4 })).body).toMatchObject({ observation: { count: 4 } });
    expect(ada.cookie).not.toBe(cookie);
  });

  test("refuse a visitor with 503 when all sessions are in use", async () => {
    const server = await start({ maxConcurrentEnvs: 1 });
    const socket = await open(server);
    await socket.ask({ type: "reset" });
    const { status, body } = await visitor(server).reset();
    expect(status).toBe(503);
    expect(body).toMatchObject({ code: "CAPACITY_REACHED", active_sessions: 1, max_sessions: 1 });
  });

  test.each<[unknown, string, (string | number)[]]>([
    [{ action: { amount: "x" } }, "int_parsing", ["body", "action", "amount"]],
    [{ action: { amount: 1, more: 2 } }, "extra_forbidden", ["body", "action", "more"]],
    [{ action: {} }, "missing", ["body", "action", "amount"]],
    [{ action: [1] }, "dict_type", ["body", "action"]],
    [{}, "missing", ["body", "action"]],
    [undefined, "missing", ["body", "action"]],
    [{ message: "hi" }, "missing", ["body", "action", "amount"]],
    ["[1]", "model_attributes_type", ["body"]],
    ["{no json", "json_invalid", ["body", 1]],
  ])("answer 422 to the step %j", async (body, type, loc) => {
    const server = await start();
    const ada = visitor(server);
    await ada.reset();
    const answer = await ada.ask("POST", "/web/step", body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0]).toMatchObject({ type, loc });
    expect((await ada.step({ amount: 1 })).body).toMatchObject({ observation: { count: 1 } });
  });

  test.each<[unknown, (string | number)[]]>([
    [{ seed: -1 }, ["body", "seed"]],
    [{ start: "x" }, ["body", "start"]],
    [[], ["body"]],
  ])("answer 422 to the reset %j, and keep no session for it", async (body, loc) => {
    const server = await start();
    const answer = await visitor(server).reset(body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0]).toMatchObject({ loc });
    await waitFor(() => server.capacity().active_sessions === 0);
  });

  test("report a failure of the environment, and the session continues", async () => {
    const server = await start();
    const ada = visitor(server);
    await ada.reset();
    expect(await ada.step({ amount: 13 })).toMatchObject({
      status: 500,
      body: { detail: "unlucky amount", code: "EXECUTION_ERROR" },
    });
    expect((await ada.step({ amount: 1 })).status).toBe(200);
  });

  test("take a step before the first reset where the environment does", async () => {
    const strict = await start();
    expect(await visitor(strict).step({ amount: 2 })).toMatchObject({
      status: 500,
      body: { detail: expect.stringContaining("call reset first") },
    });
    await waitFor(() => strict.capacity().active_sessions === 0);
    const { environment } = (await import("../../../../test-support/environments/counter.js")).defineCounter({
      stepBeforeReset: "allow",
    });
    const ada = visitor(await start({}, { environment }));
    expect((await ada.step({ amount: 2 })).body).toMatchObject({ observation: { count: 2 } });
    expect((await ada.step({ amount: 2 })).body).toMatchObject({ observation: { count: 4 } });
  });

  test("read the text of a chat page and a tool's arguments from a form", async () => {
    const chat = defineContract({
      name: "chat_env",
      action: z.object({ message: z.string() }),
      observation: z.object({ heard: z.string() }),
      tools: { add: { description: "Adds.", input: z.object({ a: z.int(), b: z.int() }), output: z.int() } },
    });
    const environment = defineEnvironment(chat, () => ({
      reset: () => ({ observation: { heard: "" } }),
      step: ({ message }) => ({ observation: { heard: message } }),
      tools: { add: ({ a, b }) => a + b },
    }));
    const ada = visitor(await start({}, { environment }));
    await ada.reset();
    expect((await ada.ask("POST", "/web/step", { message: "hi" })).body).toMatchObject({
      observation: { heard: "hi" },
    });
    const call = (given: unknown) => ada.step({ type: "call_tool", tool_name: "add", arguments: given });
    expect((await call('{"a": 1, "b": 2}')).body).toMatchObject({ observation: { result: { data: 3 } } });
    expect((await call({ a: 2, b: 2 })).body).toMatchObject({ observation: { result: { data: 4 } } });
    for (const [given, type] of [
      ["{a", "json_invalid"],
      ["[1]", "dict_type"],
    ]) {
      const { status, body } = await call(given);
      expect([status, body.detail[0]]).toMatchObject([422, { type, loc: ["body", "action", "arguments"] }]);
    }
  });

  test("are not there in production, and pages of other origins may not use them", async () => {
    const server = await start({ mode: "production", webInterface: true });
    for (const path of ["/web/reset", "/web/step"])
      expect((await visitor(server).ask("POST", path, {})).status).toBe(404);
    for (const path of ["/web/state", "/web/metadata"])
      expect((await visitor(server).ask("GET", path)).status).toBe(404);
    const { body: described } = await visitor(server).ask("GET", "/openapi.json");
    expect(Object.keys(described["paths"] as object).filter((path) => path.startsWith("/web"))).toEqual([]);
    await expect(open(server, "/ws/ui")).rejects.toThrow("403");
    const off = await start({ webInterface: false });
    expect((await visitor(off).reset()).status).toBe(404);
    await expect(open(off, "/ws/ui")).rejects.toThrow("403");
    const foreign = await fetch(`${(await start()).url}/web/reset`, {
      method: "POST",
      headers: { origin: "https://example.org" },
    });
    expect(foreign.status).toBe(403);
  });
});

describe("WebSocket /ws/ui", () => {
  const update = (state: object) => ({ type: "state_update", episode_state: expect.objectContaining(state) });

  test("sends the visitor's own episode on connect and after each change", async () => {
    const server = await start();
    const [ada, bob] = [visitor(server), visitor(server)];
    await ada.reset({ episode_id: "a" });
    await ada.step({ amount: 2 });
    const socket = await open(server, "/ws/ui", { cookie: ada.cookie });
    expect(await socket.receive()).toEqual({
      type: "state_update",
      episode_state: {
        episode_id: "a",
        step_count: 1,
        current_observation: { count: 2, metadata: {} },
        action_logs: [
          {
            timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
            action: { amount: 2 },
            observation: { count: 2, metadata: {} },
            reward: 2,
            done: false,
            step_count: 1,
          },
        ],
        is_reset: false,
      },
    });
    await bob.reset();
    await bob.step({ amount: 9 });
    await ada.step({ amount: 1 });
    expect(await socket.receive()).toEqual(update({ step_count: 2, current_observation: { count: 3, metadata: {} } }));
    await ada.reset({ episode_id: "b" });
    expect(await socket.receive()).toEqual(update({ episode_id: "b", step_count: 0, action_logs: [], is_reset: true }));
    socket.send("anything", "at all");
    await ada.step({ amount: 1 });
    expect(await socket.receive()).toEqual(update({ step_count: 1 }));
  });

  test("opens a session for a visitor without one", async () => {
    const server = await start();
    const ada = visitor(server);
    const socket = await open(server, "/ws/ui");
    expect(await socket.receive()).toEqual(update({ episode_id: null, current_observation: null, is_reset: true }));
    const [session] = await server.sessions();
    ada.cookie = `openenv_session_${server.port}=${session?.session_id}`;
    await ada.reset();
    expect(await socket.receive()).toEqual(update({ current_observation: { count: 0, metadata: {} } }));
    expect(server.capacity().active_sessions).toBe(1);
  });

  test("closes with its session and with the server, and answers 503 when there is no room", async () => {
    const server = await start({ maxConcurrentEnvs: 1 });
    const socket = await open(server, "/ws/ui");
    // Its visitor has not used it: it makes room for a player.
    const player = await open(server);
    await player.ask({ type: "reset" });
    expect(await socket.closed).toMatchObject({ code: 4000 });
    await expect(open(server, "/ws/ui")).rejects.toThrow("503");
    await player[Symbol.asyncDispose]();
    await waitFor(() => server.capacity().active_sessions === 0);
    const last = await open(server, "/ws/ui");
    void server.close();
    expect(await last.closed).toMatchObject({ code: 1012 });
  });

  test("keeps no more than a megabyte of steps", async () => {
    const big = defineContract({
      name: "big_env",
      action: z.object({ size: z.int() }),
      observation: z.object({ text: z.string() }),
    });
    const environment = defineEnvironment(big, () => ({
      reset: () => ({ observation: { text: "" } }),
      step: ({ size }) => ({ observation: { text: "x".repeat(size) } }),
    }));
    const server = await start({}, { environment });
    const ada = visitor(server);
    await ada.reset();
    for (let i = 0; i < 4; i++) await ada.step({ size: 300_000 });
    const socket = await open(server, "/ws/ui", { cookie: ada.cookie });
    expect(await socket.receive()).toMatchObject({ episode_state: { step_count: 4, action_logs: [{}, {}, {}] } });
    await ada.step({ size: 2_000_000 });
    const last = {
      step_count: 5,
      action_logs: [],
      current_observation: { text: expect.stringMatching(/^x{2000000}$/) },
    };
    expect(await socket.receive()).toMatchObject({ episode_state: last });
  });

  test("keeps the latest hundred steps, and accepts sixteen pages", async () => {
    const server = await start();
    const ada = visitor(server);
    await ada.reset();
    for (let i = 0; i < 105; i++) await ada.step({ amount: 0 });
    const sockets = await Promise.all(Array.from({ length: 16 }, () => open(server, "/ws/ui", { cookie: ada.cookie })));
    const state = (await sockets[0]?.receive()) as { episode_state: { step_count: number; action_logs: object[] } };
    expect(state.episode_state.step_count).toBe(105);
    expect(state.episode_state.action_logs).toHaveLength(100);
    await expect(open(server, "/ws/ui", { cookie: ada.cookie })).rejects.toThrow("503");
    await sockets[0]?.[Symbol.asyncDispose]();
    await waitForRoom(() => open(server, "/ws/ui", { cookie: ada.cookie }));
  });
});

async function waitForRoom(attempt: () => Promise<unknown>): Promise<void> {
  for (let i = 0; ; i++) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (i === 100) throw error;
    }
  }
}
