import { describe, expect, test } from "vitest";
import { connect } from "#core/connect.js";
import { defineContract, defineEnvironment } from "#core/index.js";
import { SESSION_HEADER } from "#core/protocol/http.js";
import type { RunningServer } from "#core/server/types.js";
import { counterContract, defineCounter } from "../../../../test-support/environments/counter.js";
import { defineDesk } from "../../../../test-support/environments/tool-environment.js";
import { AS_OPERATOR, fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { startLimited } from "../../../../test-support/servers/limited-server.js";
import { countWaiting, useServers, waitFor } from "../../../../test-support/servers/servers.js";
import { openTestSocket, type TestSocket } from "../../../../test-support/sockets/socket.js";

const servers = useServers();
const NAME = "run-7_worker-3_5f1c9a";
const BASE = `/session/${NAME}`;
const RESET = { type: "reset", data: {} };
const step = (amount: number) => ({ type: "step", data: { amount } });

type Frame = Record<string, unknown>;
const dataOf = (answer: Frame) =>
  answer["data"] as { code: string; openenv_code?: string; observation: { count: number }; step_count: number };
const count = (answer: Frame) => dataOf(answer).observation.count;
const code = (answer: Frame) => dataOf(answer).openenv_code ?? dataOf(answer).code;

/** A socket of the address, whose episode has begun. */
async function begin(server: RunningServer): Promise<TestSocket> {
  const socket = await servers.open(server, `${BASE}/ws`);
  expect(count(await socket.ask(RESET))).toBe(0);
  return socket;
}

async function post(server: RunningServer, path: string, body: object, headers: Record<string, string> = {}) {
  const init = { method: "POST", headers: { "content-type": "application/json", ...headers } };
  const response = await fetch(server.url + path, { ...init, body: JSON.stringify(body) });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Frame };
}

async function rpc(server: RunningServer, method: string, params: object = {}) {
  const { body } = await post(server, `${BASE}/mcp`, { jsonrpc: "2.0", id: 1, method, params });
  return body as { result?: { session_id?: string; data?: unknown }; error?: { message: string } };
}

const active = (server: RunningServer) => server.capacity().active_sessions;

describe("a session by address", () => {
  test.each([
    ["is cut", (socket: TestSocket) => socket.ws.terminate()],
    ["closes without a close message", (socket: TestSocket) => socket.ws.close(1000)],
  ])("continues with the next socket when its own %s", async (_what, leave) => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    const socket = await begin(server);
    await socket.ask(step(2));
    leave(socket);
    const next = await servers.open(server, `${BASE}/ws`);
    expect(count(await next.ask(step(3)))).toBe(5);
    expect(dataOf(await next.ask({ type: "state" })).step_count).toBe(2);
    expect(counter.log).toMatchObject({ created: 1, closed: 0 });
  });

  test("is made by the first valid message, not by a socket, a wrong message or a description of the server", async () => {
    const server = await servers.start();
    for (const path of ["health", "schema", "metadata"]) {
      expect((await fetch(`${server.url}${BASE}/${path}`)).status).toBe(200);
    }
    const socket = await servers.open(server, `${BASE}/ws`);
    expect(code(await socket.ask("{"))).toBe("INVALID_JSON");
    expect(code(await socket.ask({ type: "leap" }))).toBe("UNKNOWN_TYPE");
    expect((await post(server, `${BASE}/reset`, { start: "x" })).status).toBe(422);
    expect((await rpc(server, "no/such/method")).error?.message).toContain("Method not found");
    expect(active(server)).toBe(0);
    expect(code(await socket.ask(step(1)))).toBe("NO_EPISODE");
    expect(active(server)).toBe(1);
  });

  test("ends with a close message, which frees its name", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    const socket = await begin(server);
    await socket.ask(step(2));
    socket.send({ type: "close" });
    await socket.closed;
    expect(active(server)).toBe(0);
    const next = await begin(server);
    expect(count(await next.ask(step(1)))).toBe(1);
    expect(counter.log.created).toBe(2);
  });

  test("is ended by a socket that has sent nothing else", async () => {
    const server = await servers.start();
    (await begin(server)).ws.terminate();
    const other = await servers.open(server, `${BASE}/ws`);
    other.send({ type: "close" });
    expect((await other.closed).code).toBe(1000);
    expect(active(server)).toBe(0);
  });

  test("lets the next frame wait for the step that its lost socket began", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    const socket = await begin(server);
    socket.send(step(50));
    await waitFor(() => counter.log.begun === 1);
    socket.ws.terminate();
    const next = await servers.open(server, `${BASE}/ws`);
    expect(count(await next.ask(step(1)))).toBe(51);
    expect(counter.log).toMatchObject({ begun: 1, aborted: 0 });
  });

  test("executes a step with a request id once, until the client sends another step", async () => {
    const server = await servers.start();
    const socket = await begin(server);
    const named = (amount: number, id: unknown) => ({
      type: "step",
      data: { amount, metadata: { "openenv.request_id": id } },
    });
    expect(count(await socket.ask(named(2, "a")))).toBe(2);
    socket.ws.terminate();
    const next = await servers.open(server, `${BASE}/ws`);
    expect(dataOf(await next.ask({ type: "state" })).step_count).toBe(1);
    expect(count(await next.ask(named(2, "a")))).toBe(2);
    expect(code(await next.ask(named(3, "a")))).toBe("SEQUENCE_CONFLICT");
    expect(code(await next.ask(named(3, 7)))).toBe("VALIDATION_ERROR");
    expect(count(await next.ask(named(3, "b")))).toBe(5);
    expect(count(await next.ask(named(2, "a")))).toBe(7);
    await next.ask(RESET);
    expect(count(await next.ask(named(2, "a")))).toBe(2);
  });

  test("lets a repeated step wait for the one that its lost socket began", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    const socket = await begin(server);
    const slow = { type: "step", data: { amount: 50, metadata: { "openenv.request_id": "slow" } } };
    socket.send(slow);
    await waitFor(() => counter.log.begun === 1);
    socket.ws.terminate();
    const next = await servers.open(server, `${BASE}/ws`);
    expect(count(await next.ask(slow))).toBe(50);
    expect(counter.log.begun).toBe(1);
  });

  test("refuses a second socket while the first answers pings", async () => {
    const server = await servers.start();
    const socket = await begin(server);
    const second = await servers.open(server, `${BASE}/ws`);
    expect(code(await second.ask(step(5)))).toBe("SESSION_IN_USE");
    expect((await second.closed).code).toBe(1000);
    expect(count(await socket.ask(step(1)))).toBe(1);
  });

  test("is not taken over because the server was blocked while the pong arrived", async () => {
    const server = await servers.start();
    const socket = await begin(server);
    socket.ws.once("ping", () => {
      // The pong is sent, and the server, in this process, cannot read it before the time limit of its ping.
      const end = performance.now() + 1_100;
      while (performance.now() < end);
    });
    const second = await servers.open(server, `${BASE}/ws`);
    expect(code(await second.ask(step(5)))).toBe("SESSION_IN_USE");
  });

  test("is taken over from a socket that is half-open; what that one had sent is dropped", async () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    const amounts: number[] = [];
    const environment = defineEnvironment(counterContract, () => ({
      reset: () => ({ observation: { count: 0 } }),
      step: async ({ amount }) => {
        amounts.push(amount);
        await opened;
        return { observation: { count: amount } };
      },
    }));
    const server = await servers.start({}, { environment });
    const socket = await begin(server);
    socket.send(step(5), step(7), { type: "close" });
    await waitFor(() => amounts.length === 1);
    // It reads no more, so no ping is answered.
    socket.ws.pause();
    const next = await servers.open(server, `${BASE}/ws`);
    // Answered without the environment, when the socket has taken over.
    await next.ask({ type: "mcp", data: { jsonrpc: "2.0", id: 1, method: "openenv/session/create" } });
    next.send(step(1));
    open();
    expect(count(await next.receive())).toBe(1);
    socket.ws.resume();
    expect((await socket.closed).code).toBe(4001);
    expect(amounts).toEqual([5, 1]);
  });

  test("is opened once when two sockets send their first message together", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    const sockets = await Promise.all([1, 2].map(() => servers.open(server, `${BASE}/ws`)));
    const answers = await Promise.all(sockets.map((socket) => socket.ask(RESET)));
    expect(answers.map((answer) => answer["type"]).sort()).toEqual(["error", "observation"]);
    expect(counter.log.created).toBe(1);
  });

  test("waits in the queue, and leaves it with its socket", async () => {
    const server = await servers.start({ ...WITH_OPERATOR, maxConcurrentEnvs: 1, queueSize: 4 });
    const full = await connect(server.url);
    await full.reset();
    const first = await servers.open(server, `${BASE}/ws`);
    first.send(RESET);
    await expect.poll(() => countWaiting(server.url)).toBe(1);
    first.ws.terminate();
    await expect.poll(() => countWaiting(server.url)).toBe(0);
    const next = await servers.open(server, `${BASE}/ws`);
    next.send(RESET);
    await expect.poll(() => countWaiting(server.url)).toBe(1);
    await full.close();
    expect(count(await next.receive())).toBe(0);
    expect(active(server)).toBe(1);
  });
});

describe("the name of a session", () => {
  test.each(["short", "x".repeat(129), "run-7.worker-3.5f1c9a", "run-7_worker-3_5f1c9%61", ""])(
    "that is not valid is 404 with an example: %s",
    async (name) => {
      const server = await servers.start();
      const { status, body } = await post(server, `/session/${name}/reset`, {});
      expect(status).toBe(404);
      expect(body).toMatchObject({ code: "SESSION_ERROR", detail: expect.stringContaining(BASE) });
      await expect(servers.open(server, `/session/${name}/ws`)).rejects.toThrow("404");
    },
  );

  test("is compared as bytes", async () => {
    const server = await servers.start();
    await begin(server);
    const other = await servers.open(server, `/session/${NAME.toUpperCase()}/ws`);
    expect(count(await other.ask(RESET))).toBe(0);
    expect(active(server)).toBe(2);
  });

  test("has no page and no routes of operators", async () => {
    const server = await servers.start({ ...WITH_OPERATOR });
    for (const path of ["/web/", "/sessions", "/metrics", "/docs", ""]) {
      expect((await fetchAsOperator(`${server.url}${BASE}${path}`)).status).toBe(404);
    }
  });

  test("is not that of an environment", () => {
    expect(() =>
      defineContract({ name: "session", action: counterContract.action, observation: counterContract.observation }),
    ).toThrow("/session/ is the address");
  });
});

describe("a session by address that is lost", () => {
  async function lose(server: RunningServer): Promise<void> {
    const response = await fetchAsOperator(`${server.url}/sessions`);
    const { sessions } = (await response.json()) as { sessions: { session_id: string }[] };
    for (const { session_id } of sessions) {
      await fetch(`${server.url}/sessions/${session_id}`, { method: "DELETE", headers: AS_OPERATOR });
    }
  }

  test("answers NO_EPISODE until the next reset, also where a step may come before a reset", async () => {
    const counter = defineCounter({ stepBeforeReset: "allow" });
    const server = await servers.start({ ...WITH_OPERATOR }, counter);
    const socket = await begin(server);
    await lose(server);
    expect((await socket.closed).code).toBe(4000);
    const next = await servers.open(server, `${BASE}/ws`);
    expect(code(await next.ask(step(1)))).toBe("NO_EPISODE");
    expect(code(await next.ask({ type: "state" }))).toBe("NO_EPISODE");
    expect((await post(server, `${BASE}/step`, { action: { amount: 1 } })).body).toMatchObject({
      openenv_code: "NO_EPISODE",
    });
    expect(active(server)).toBe(0);
    expect(count(await next.ask(RESET))).toBe(0);
    expect(count(await next.ask(step(1)))).toBe(1);
  });

  test("because no client returned in time answers NO_EPISODE", async () => {
    const server = await servers.start({ sessionTimeout: 0.2 });
    const socket = await begin(server);
    socket.ws.terminate();
    await expect.poll(() => active(server)).toBe(0);
    const next = await servers.open(server, `${BASE}/ws`);
    const answer = await next.ask(step(1));
    expect(answer["data"]).toMatchObject({ openenv_code: "NO_EPISODE", message: expect.stringContaining("in time") });
  });

  test("gives a tool client a new session, in which the reset comes first", async () => {
    const server = await servers.start({ ...WITH_OPERATOR }, defineDesk());
    const before = (await rpc(server, "openenv/session/create")).result?.session_id;
    await lose(server);
    const { session_id } = (await rpc(server, "openenv/session/create")).result ?? {};
    expect(session_id).not.toBe(before);
    expect((await rpc(server, "tools/call", { name: "tally", session_id })).error?.message).toContain("lost");
    expect((await rpc(server, "tools/call", { name: "tally", session_id: before })).error).toBeDefined();
    expect((await post(server, `${BASE}/reset`, {})).status).toBe(200);
    expect((await rpc(server, "tools/call", { name: "tally", session_id })).result).toMatchObject({ data: 1 });
  });
});

describe("a session by address over HTTP", () => {
  test("is that of the socket", async () => {
    const server = await servers.start();
    const begun = await post(server, `${BASE}/reset`, { start: 3 });
    expect(begun.headers.get("set-cookie")).toBeNull();
    expect((await post(server, `${BASE}/step`, { action: { amount: 2 } })).body).toMatchObject({
      observation: { count: 5 },
    });
    const socket = await servers.open(server, `${BASE}/ws`);
    expect(count(await socket.ask(step(1)))).toBe(6);
    expect(await (await fetch(`${server.url}${BASE}/state/`)).json()).toMatchObject({ step_count: 2 });
    expect(active(server)).toBe(1);
  });

  test("is not another one that a header names", async () => {
    const server = await servers.start();
    const other = (await post(server, "/reset", {})).headers.get(SESSION_HEADER) as string;
    const headers = { [SESSION_HEADER]: other };
    expect((await post(server, `${BASE}/step`, { action: { amount: 1 } }, headers)).status).toBe(404);
  });
});

describe("a tool client with an address", () => {
  test("gets one session, whose id attaches a socket; only the id of the address does", async () => {
    const server = await servers.start({}, defineDesk());
    const { session_id = "" } = (await rpc(server, "openenv/session/create")).result ?? {};
    expect((await rpc(server, "openenv/session/create")).result).toEqual({ session_id });
    const socket = await servers.open(server, `${BASE}/ws?session_id=${session_id}`);
    expect((await socket.ask({ type: "reset", data: {} }))["type"]).toBe("observation");
    expect((await rpc(server, "tools/call", { name: "tally", session_id })).result).toMatchObject({ data: 1 });
    const other = (await post(server, "/mcp", { jsonrpc: "2.0", id: 1, method: "openenv/session/create" })).body;
    const foreign = (other["result"] as { session_id: string }).session_id;
    expect((await rpc(server, "tools/call", { name: "tally", session_id: foreign })).error?.message).toContain(
      "not the session of this address",
    );
    expect((await rpc(server, "openenv/session/close", { session_id: foreign })).error).toBeDefined();
    const stale = await servers.open(server, `${BASE}/ws?session_id=${foreign}`);
    expect(code(await stale.ask(RESET))).toBe("SESSION_ERROR");
    const plain = await servers.open(server, `/ws?session_id=${session_id}`);
    expect(code(await plain.receive())).toBe("SESSION_ERROR");
  });

  test("only detaches with the close message of its socket, and ends the session by its id", async () => {
    const server = await servers.start({}, defineDesk());
    const { session_id = "" } = (await rpc(server, "openenv/session/create")).result ?? {};
    const socket = await servers.open(server, `${BASE}/ws?session_id=${session_id}`);
    await socket.ask({ type: "reset", data: {} });
    await rpc(server, "tools/call", { name: "tally", session_id });
    socket.send({ type: "close" });
    await socket.closed;
    expect((await rpc(server, "tools/call", { name: "tally", session_id })).result).toMatchObject({ data: 2 });
    expect((await rpc(server, "openenv/session/close", { session_id })).result).toMatchObject({ closed: true });
    expect(active(server)).toBe(0);
    expect((await rpc(server, "openenv/session/create")).result?.session_id).not.toBe(session_id);
  });
});

test("a socket that is refused by its first message is not expected to open the session any more", async () => {
  const { context, url, close } = await startLimited(defineCounter().environment, 1024 * 1024);
  const socket = await openTestSocket(`${url}${BASE}/ws?session_id=another`);
  expect(context.addresses.expected).toBe(1);
  expect(code(await socket.ask({ type: "close" }))).toBe("SESSION_ERROR");
  await socket.closed;
  expect(context.addresses.expected).toBe(0);
  close();
});

describe("rights with an address", () => {
  test("in production only the orchestrator resets, steps and ends", async () => {
    const server = await servers.start({ mode: "production", orchestratorToken: "orchestrator-secret" });
    const agent = await servers.open(server, `${BASE}/ws`);
    expect(code(await agent.ask(RESET))).toBe("FORBIDDEN");
    expect(active(server)).toBe(0);
    const authorization = "Bearer orchestrator-secret";
    const own = await servers.open(server, `${BASE}/ws`, { authorization });
    expect(count(await own.ask(RESET))).toBe(0);
    own.ws.terminate();
    agent.send({ type: "close" });
    await agent.closed;
    const next = await servers.open(server, `${BASE}/ws`, { authorization });
    expect(count(await next.ask(step(1)))).toBe(1);
  });

  test("no client resets by an address in production without an orchestrator", async () => {
    const server = await servers.start({ mode: "production" });
    const socket = await servers.open(server, `${BASE}/ws`);
    expect(code(await socket.ask(RESET))).toBe("FORBIDDEN");
  });

  test("a name is not a token of a client", async () => {
    const server = await servers.start({ clientToken: "client-secret" });
    await expect(servers.open(server, `${BASE}/ws`)).rejects.toThrow("401");
    expect((await post(server, `${BASE}/reset`, {})).status).toBe(401);
    const origin = { origin: "https://elsewhere.example", authorization: "Bearer client-secret" };
    await expect(servers.open(server, `${BASE}/ws`, origin)).rejects.toThrow("403");
  });
});
