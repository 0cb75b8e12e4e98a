/** Promises of the wire without a recorded case or a test in the package. */
import { afterEach, expect, test, vi } from "vitest";
import { playHttp } from "./replay/play-http.js";
import { openSocket, type ReplaySocket } from "./replay/socket.js";
import { Stage } from "./replay/stage.js";

const rpc = (id: number, method: string, more: object = {}) => ({ jsonrpc: "2.0", id, method, ...more });
const rpcError = (id: number | null, code: number) => ({
  jsonrpc: "2.0",
  id,
  error: { code, data: { fault: "client" } },
});

afterEach(() => vi.unstubAllEnvs());

async function ask(socket: ReplaySocket, ...frames: (object | string)[]): Promise<unknown[]> {
  for (const frame of frames) await socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  return socket.take(frames.length);
}

test("a JSON-RPC socket answers every frame in order and stays open after invalid ones", async () => {
  await using stage = await Stage.open("tools");
  const socket = await stage.hold("/mcp");
  const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
  const frames = ["{oops", {}, { type: "reset", data: {} }, notification, rpc(4, "ping"), rpc(5, "tools/list")];
  expect(await ask(socket, ...frames)).toMatchObject([
    rpcError(null, -32700),
    rpcError(null, -32600),
    rpcError(null, -32600),
    rpcError(null, -32601),
    rpcError(4, -32601),
    { id: 5, result: { tools: expect.any(Array) } },
  ]);
});

test("a JSON-RPC socket has a session that counts and ends with the socket", async () => {
  await using stage = await Stage.open("counter");
  const socket = await stage.hold("/mcp");
  expect(stage.server.capacity().active_sessions).toBe(1);
  const [created] = (await ask(socket, rpc(1, "openenv/session/create"))) as [{ result: { session_id: string } }];
  expect((await stage.server.sessions()).map(({ session_id }) => session_id)).toEqual([created.result.session_id]);
  await socket.close();
  await stage.until(() => stage.server.capacity().active_sessions === 0);
});

test("mcp frames do not count as steps", async () => {
  await using stage = await Stage.open("counter");
  const frames = [{ type: "reset" }, { type: "mcp", data: rpc(1, "tools/list") }, { type: "state" }];
  expect(await ask(await stage.hold(), ...frames)).toMatchObject([
    { type: "observation" },
    { type: "mcp", data: rpcError(1, -32603) },
    { type: "state", data: { step_count: 0 } },
  ]);
});

test("unknown params of a JSON-RPC request are ignored", async () => {
  await using stage = await Stage.open("counter");
  expect(await stage.rpc("openenv/session/create", { colour: "red" })).toMatchObject({
    result: { session_id: expect.stringMatching(/^[\w-]{36}$/) },
  });
});

test("requests without a session are answered at capacity", async () => {
  await using stage = await Stage.open("reap1", { sessionTimeout: 60 });
  await stage.hold();
  const post = { case: "", env: "", method: "POST" };
  const step = await playHttp({ ...post, path: "/step", body: { action: { amount: 1 } } }, stage.url);
  const reset = await playHttp({ ...post, path: "/reset", body: {} }, stage.url);
  const state = await playHttp({ case: "", env: "", path: "/state" }, stage.url);
  expect([step.status, reset.status, state.status]).toEqual([200, 200, 200]);
  expect(await stage.rpc("tools/list")).toMatchObject(rpcError(1, -32603));
});

test("an attached socket shares the session, and a JSON-RPC close waits for it", async () => {
  await using stage = await Stage.open("counter");
  await stage.createSession("<id>");
  const socket = await stage.hold("/ws?session_id=<id>");
  await ask(socket, { type: "reset", data: { episode_id: "shared" } });
  expect(await stage.server.sessions()).toMatchObject([{ episode_id: "shared", attached: true }]);
  const closing = await stage.rpc("openenv/session/close", { session_id: "<id>" });
  expect(closing).toMatchObject({ result: { closed: false, closing: true } });
  expect(await ask(socket, { type: "state" })).toMatchObject([{ data: { episode_id: "shared" } }]);
  await socket.close();
  await stage.until(() => stage.server.capacity().active_sessions === 0);
});

test("the client may send any headers in the handshake", async () => {
  await using stage = await Stage.open("counter");
  const { socket } = await openSocket(`${stage.url}/ws`, { headers: { authorization: "Bearer t", "x-trace": "1" } });
  expect(await ask(socket, { type: "reset" })).toMatchObject([{ type: "observation" }]);
  await socket.close();
});

test("an answer of several megabytes is sent in one frame", async () => {
  await using stage = await Stage.open("kinds");
  const anything = "é".repeat(2 * 1024 * 1024);
  const [answer] = await ask(await stage.hold(), { type: "step", data: { text: "hi", anything } });
  expect((answer as { data: { observation: { anything: string } } }).data.observation.anything).toBe(anything);
});

test("the default port is 8000", async () => {
  vi.stubEnv("PORT", undefined);
  const opened = Stage.open("counter", { port: undefined as never });
  const addressOrError = await opened.then(
    async (stage) => {
      await stage.server.close();
      return stage.url;
    },
    // The port is in use: the error names it as well.
    (error: Error) => error.message,
  );
  expect(addressOrError).toMatch(/:8000$|^Port 8000 /);
});

test("OPENENV_MODE sets the mode in upper or lower case, and another value is a configuration error", async () => {
  vi.stubEnv("OPENENV_MODE", "PRODUCTION");
  await using stage = await Stage.open("counter");
  const { status } = await playHttp({ case: "", env: "", path: "/state" }, stage.url);
  expect(status).toBe(404);
  vi.stubEnv("OPENENV_MODE", "both");
  await expect(Stage.open("counter")).rejects.toMatchObject({ code: "INVALID_CONFIG" });
});
