import { createHash } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { createContext } from "../../../../../test-support/environments/context.js";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { waitFor } from "../../../../../test-support/servers/servers.js";
import { createNodeServer } from "../../../../sockets/src/runtimes/node.js";
import { SESSION_TOKEN_HEADER } from "../../protocol/http.js";
import { TOKEN_SUBPROTOCOL } from "../../protocol/messages.js";
import { createRuntime } from "../../session/runtime.js";
import type { Log } from "../../util/log.js";
import type { Tokens } from "../config/settings.js";
import { createRouter } from "../http/router.js";
import { findDurable } from "../parts/durable.js";
import { definePlugin, type ServerPlugin } from "../plugins/index.js";
import { Plugins } from "../plugins/plugins.js";
import { createRoutes } from "../routes/routes.js";
import { SocketServer } from "../websocket/socket-server.js";
import { Audit } from "./audit.js";
import { createAuthorization } from "./authorization.js";

type Line = Record<string, unknown> & { level: string; msg: string };

/** A log whose lines are kept. */
function keepLines() {
  const lines: Line[] = [];
  const at = (level: string) => (fields: object, msg: string) => void lines.push({ ...fields, level, msg });
  const log: Log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  return { lines, log };
}

const TOKENS: Tokens = {
  clientToken: "for clients",
  operatorToken: "for operators",
  orchestratorToken: undefined,
  viewerToken: undefined,
};
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const cleanup: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of cleanup.splice(0).reverse()) await end();
});

/** A server on Node whose delays last until `release` is called. */
async function startServer(tokens: Partial<Tokens> = TOKENS, given: ServerPlugin[] = []) {
  const { lines, log } = keepLines();
  const guarded = tokens.orchestratorToken !== undefined;
  const runtime = createRuntime(defineCounter().environment, { log, guarded });
  const authorization = createAuthorization({ ...TOKENS, clientToken: undefined, operatorToken: undefined, ...tokens });
  const waiting: (() => void)[] = [];
  const delay = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
  const own = {
    runtime,
    variables: {},
    worker: 0,
    sessions: () => [],
    open: () => Promise.reject(new Error("no sessions")),
    ask: async () => ({ answer: null }),
  };
  const plugins = new Plugins(given, own);
  const audit = new Audit(log, authorization, delay);
  const context = await createContext(runtime, { authorization, audit, plugins });
  const sockets = new SocketServer(context);
  const upgrade: SocketServer["upgrade"] = (request) => sockets.upgrade(request);
  const durable = await findDurable();
  const handle = createRouter(
    context,
    createRoutes({ mode: "simulation", webInterface: true }, durable && [{ ofSession: durable.routes }]),
  );
  const server = createNodeServer({ context, handle, upgrade }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const release = (): void => waiting.splice(0).forEach((go) => void go());
  cleanup.push(() => {
    release();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const get = async (path: string, headers: Record<string, string> = {}, method = "GET"): Promise<number> => {
    const body = method === "POST" ? '{"count":1}' : null;
    const response = await fetch(url + path, {
      method,
      body,
      headers: { connection: "close", "content-type": "application/json", ...headers },
    });
    await response.text();
    return response.status;
  };
  const handshake = async (headers: Record<string, string> = {}, protocols: string[] = []): Promise<number> => {
    const ws = new WebSocket(`${url.replace("http", "ws")}/ws`, protocols, { headers });
    ws.on("error", () => {});
    const status = await Promise.race([
      once(ws, "unexpected-response").then(([, response]) => response.statusCode as number),
      once(ws, "open").then(() => 101),
    ]);
    ws.terminate();
    return status;
  };
  return { port, get, handshake, lines, waiting, release };
}

describe("a refused token", () => {
  test("is logged with the address and the request, and never with the token or the id of a session", async () => {
    const server = await startServer();
    const forwarded = { "x-forwarded-for": "203.0.113.7" };
    expect(await server.get("/schema?token=x", { ...bearer("guess"), ...forwarded })).toBe(401);
    expect(await server.get("/sessions/0f4c1f0a-secret/events", bearer("for clients"))).toBe(401);
    expect(server.lines).toEqual([
      {
        level: "warn",
        msg: "a token was refused",
        client: "127.0.0.1",
        forwardedFor: "203.0.113.7",
        request: "GET /schema",
        session: undefined,
      },
      expect.objectContaining({ request: "GET /sessions/{id}/events", session: "0f4c1f0a-secret" }),
    ]);
    expect(JSON.stringify(server.lines)).not.toMatch(/guess|for clients/);
  });

  test("delays only further wrong tokens of its address: over HTTP, WebSocket, as a key and as a cookie", async () => {
    const server = await startServer();
    expect(await server.get("/schema", bearer("wrong"))).toBe(401);
    const guesses = [
      server.get("/schema", bearer("wrong")),
      server.get("/reset", { "x-api-key": "wrong" }, "POST"),
      server.get("/schema", { cookie: `openenv_client_${server.port}=wrong` }),
      server.get("/sessions", bearer("wrong")),
      server.handshake(bearer("wrong")),
      server.handshake({}, ["openenv", TOKEN_SUBPROTOCOL + Buffer.from("wrong").toString("base64url")]),
    ];
    const answered: number[] = [];
    for (const guess of guesses) void guess.then((status) => answered.push(status));
    await waitFor(() => server.waiting.length === guesses.length);
    // Meanwhile others of the same address are answered: with a right token, with one that lacks the right, and without.
    expect(await server.get("/schema", bearer("for clients"))).toBe(200);
    expect(await server.handshake(bearer("for clients"))).toBe(101);
    expect(await server.get("/sessions", bearer("for operators"))).toBe(200);
    expect(await server.get("/sessions", bearer("for clients"))).toBe(401);
    expect(await server.get("/schema")).toBe(401);
    expect(await server.handshake()).toBe(401);
    expect(answered).toEqual([]);
    server.release();
    expect(await Promise.all(guesses)).toEqual(guesses.map(() => 401));
  });

  test("is delayed where only operators need one, also on the routes that the holder of a session may use", async () => {
    const server = await startServer({ operatorToken: "for operators" });
    expect(await server.get("/schema", bearer("wrong"))).toBe(200);
    expect(await server.get("/metrics", bearer("wrong"))).toBe(401);
    const guesses = [
      server.get("/sessions/x", bearer("wrong"), "DELETE"),
      server.get("/sessions/x/events", bearer("wrong")),
      server.get("/sessions/x/events", { ...bearer("wrong"), "openenv-session-token": "wrong" }),
      server.get("/sessions/x/fork", bearer("wrong"), "POST"),
    ];
    await waitFor(() => server.waiting.length === guesses.length);
    server.release();
    expect(await Promise.all(guesses)).toEqual(guesses.map(() => 401));
    expect(server.lines.map(({ request }) => request).sort()).toEqual([
      "DELETE /sessions/{id}",
      "GET /metrics",
      "GET /sessions/{id}/events",
      "GET /sessions/{id}/events",
      "POST /sessions/{id}/fork",
    ]);
  });
});

test.each<[string, ServerPlugin[]]>([
  ["without a plugin", []],
  ["with a plugin that does not know the peer", [definePlugin({ name: "names", authorize: () => undefined })]],
])("a wrong token of an orchestrator is logged and delayed, and its peer is a client: %s", async (_what, plugins) => {
  const server = await startServer({ orchestratorToken: "for orchestrators" }, plugins);
  expect(await server.handshake(bearer("wrong"))).toBe(101);
  const guesses = [server.handshake(bearer("wrong")), server.get("/mcp", bearer("wrong"), "POST")];
  const answered: number[] = [];
  for (const guess of guesses) void guess.then((status) => answered.push(status));
  await waitFor(() => server.waiting.length === guesses.length);
  expect(await server.handshake(bearer("for orchestrators"))).toBe(101);
  expect(await server.get("/mcp", bearer("for orchestrators"), "POST")).toBe(200);
  expect(await server.handshake()).toBe(101);
  expect(await server.get("/schema", bearer("wrong"))).toBe(200);
  expect(answered).toEqual([]);
  server.release();
  expect(await Promise.all(guesses)).toEqual([101, 200]);
  const refused = server.lines.filter(({ msg }) => msg === "a token was refused");
  expect(refused.map(({ request }) => request).sort()).toEqual(["POST /mcp", ...Array(2).fill("WebSocket handshake")]);
});

test("a wrong token of an orchestrator is delayed, too, if it comes with the token of a session", async () => {
  const server = await startServer({ orchestratorToken: "for orchestrators" });
  const url = `ws://127.0.0.1:${server.port}/ws?openenv=resume`;
  const ws = new WebSocket(url, { headers: bearer("for orchestrators") });
  cleanup.push(() => ws.terminate());
  await once(ws, "open");
  const token_hash = createHash("sha256").update("of the session").digest("hex");
  ws.send(JSON.stringify({ type: "resume", data: { token_hash } }));
  const [text] = (await once(ws, "message")) as [Buffer];
  const { data } = JSON.parse(String(text)) as { data: { session_id: string } };
  const read = () =>
    server.get(`/sessions/${data.session_id}/events`, {
      ...bearer("wrong"),
      [SESSION_TOKEN_HEADER]: "of the session",
    });
  expect(await read()).toBe(403);
  const guess = read();
  await waitFor(() => server.waiting.length === 1);
  server.release();
  expect(await guess).toBe(403);
});

describe("an act of an operator", () => {
  test("is logged each time with the address, and a scrape once for each address", async () => {
    const server = await startServer({ operatorToken: "for operators" });
    const ask = (path: string, method = "GET") => server.get(path, bearer("for operators"), method);
    for (let i = 0; i < 2; i++) {
      expect(await ask("/metrics")).toBe(200);
      expect(await ask("/web/server")).toBe(200);
      expect(await ask("/sessions")).toBe(200);
    }
    expect(await ask("/sessions/pause", "POST")).toBe(200);
    expect(await ask("/sessions/resume", "POST")).toBe(200);
    expect(await ask("/sessions/0f4c1f0a-secret", "DELETE")).toBe(404);
    expect(await ask("/sessions/0f4c1f0a-secret/events")).toBe(404);
    expect(server.lines.map(({ level, msg }) => `${level}: ${msg}`)).toEqual([
      "info: an operator reads the metrics, and may repeat it",
      "info: an operator reads the server view, and may repeat it",
      "info: an operator lists the sessions",
      "info: an operator lists the sessions",
      "info: an operator pauses the server",
      "info: an operator resumes the server",
      "info: an operator ends a session",
      "info: an operator reads the events of a session",
    ]);
    expect(new Set(server.lines.map(({ client }) => client))).toEqual(new Set(["127.0.0.1"]));
    expect(server.lines.at(-1)).toMatchObject({ request: "GET /sessions/{id}/events", session: "0f4c1f0a-secret" });
    expect(JSON.stringify(server.lines)).not.toContain("for operators");
  });
});

describe("a flood of wrong tokens", () => {
  const requester = (client: string, token = "wrong") => ({ client, headers: bearer(token), request: "GET /schema" });
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  test("holds a limited number of requests, answers the others at once, and takes as many again", async () => {
    const { log } = keepLines();
    let waiting: (() => void)[] = [];
    const delay = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
    const audit = new Audit(log, createAuthorization(TOKENS), delay);
    for (let round = 0; round < 2; round++) {
      let answered = 0;
      const all = Array.from({ length: 300 }, () => audit.refuse(requester("203.0.113.7")).then(() => answered++));
      await settle();
      expect([answered, waiting.length]).toEqual([200, 100]);
      const delayed = waiting;
      waiting = [];
      for (const go of delayed) go();
      await Promise.all(all);
    }
    audit.close();
  });

  test("adds few lines, in which every refusal is counted, from however many addresses", async () => {
    const { lines, log } = keepLines();
    const audit = new Audit(log, createAuthorization(TOKENS), async () => {});
    for (let i = 0; i < 500; i++) await audit.refuse(requester("203.0.113.7"));
    for (let i = 0; i < 3_000; i++) await audit.refuse(requester(`10.0.${i >> 8}.${i & 255}`));
    expect(lines).toHaveLength(10);
    audit.close();
    expect(lines.length).toBeLessThanOrEqual(21);
    expect(lines.reduce((sum, { count = 1 }) => sum + Number(count), 0)).toBe(3_500);
  });

  test("is counted for the addresses that sent most", async () => {
    const { lines, log } = keepLines();
    const audit = new Audit(log, createAuthorization(TOKENS), async () => {});
    for (let i = 0; i < 30; i++) for (let n = 0; n <= i; n++) await audit.refuse(requester(`10.0.0.${i}`));
    audit.close();
    expect(lines.slice(10)).toEqual([
      ...Array.from({ length: 10 }, (_, nth) => {
        return { level: "warn", msg: "more tokens were refused", client: `10.0.0.${29 - nth}`, count: 30 - nth };
      }),
      expect.objectContaining({ msg: "tokens of other addresses were refused" }),
    ]);
  });
});
