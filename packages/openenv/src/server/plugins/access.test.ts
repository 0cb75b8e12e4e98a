import { once } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { AS_OPERATOR, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { codeOf } from "../../../../../test-support/sockets/resumable.js";
import { definePlugin, type ServerPlugin } from "./index.js";

// Each starts servers and sockets, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();
const RESET = { type: "reset" };
describe("authorize()", () => {
  /** Recognises peers that send a name as bearer token, and refuses others or leaves them to the tokens of the server. */
  const byName = (others?: "refuse") =>
    definePlugin({
      name: "names",
      authorize({ headers, isOpen }) {
        const name = /^Bearer (ada|bob)$/.exec(headers.authorization ?? "")?.[1];
        if (name !== undefined) return { name };
        return others === undefined || isOpen ? undefined : { code: "UNAUTHORIZED", message: "say who you are" };
      },
    });
  const as = (name: string) => ({ authorization: `Bearer ${name}` });
  const statusOf = async (url: string, headers: Record<string, string> = {}) => (await fetch(url, { headers })).status;

  test("decides about requests and handshakes, and can leave probes open", async () => {
    const { url } = await start({ plugins: [byName("refuse")] });
    expect(await statusOf(`${url}/schema`, as("ada"))).toBe(200);
    const refused = await fetch(`${url}/schema`, { headers: as("eve") });
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(await refused.json()).toMatchObject({ code: "UNAUTHORIZED", detail: "say who you are" });
    expect(await statusOf(`${url}/health`)).toBe(200);
    const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
    const [{ message }] = (await once(socket, "error")) as [Error];
    expect(message).toContain("401");
    const known = new WebSocket(`${url.replace("http", "ws")}/ws`, { headers: as("bob") });
    await once(known, "open");
    known.terminate();
  });

  test("replaces the client token for peers that it recognises, and for no others", async () => {
    const { url } = await start({ clientToken: "of-clients", plugins: [byName()] });
    const statuses = [as("ada"), as("of-clients"), as("eve"), {}].map((headers) => statusOf(`${url}/schema`, headers));
    expect(await Promise.all(statuses)).toEqual([200, 200, 401, 401]);
  });

  test("is not called for what the server answers before", async () => {
    const asked: string[] = [];
    const authorize: ServerPlugin["authorize"] = ({ method, url }) => void asked.push(`${method} ${url}`);
    const origin = "https://app.example";
    const { url } = await start({ allowedOrigins: [origin], plugins: [definePlugin({ name: "names", authorize })] });
    const ask = async (method: string, path: string, headers = {}) =>
      (await fetch(url + path, { method, headers, redirect: "manual" })).status;
    expect(await ask("GET", "/nothing")).toBe(404);
    expect(await ask("GET", "/schema/")).toBe(307);
    expect(await ask("OPTIONS", "/reset", { origin, "access-control-request-method": "POST" })).toBe(204);
    expect(await ask("POST", "/reset", { origin: "https://evil.example" })).toBe(403);
    const page = new WebSocket(`${url.replace("http", "ws")}/ws`, { origin: "https://evil.example" });
    await once(page, "error");
    expect(asked).toEqual([]);
    expect(await ask("DELETE", "/schema")).toBe(405);
    expect(asked).toEqual(["DELETE /schema"]);
  });

  test("makes no operator, but the setting `operators` does", async () => {
    const { url } = await start({ ...WITH_OPERATOR, operators: ["ada"], plugins: [byName()] });
    const statuses = [as("ada"), as("bob"), AS_OPERATOR, {}].map((headers) =>
      statusOf(`${url}/sessions`, headers as Record<string, string>),
    );
    expect(await Promise.all(statuses)).toEqual([200, 401, 200, 401]);
  });

  test("passes the principal to admit() and to the session, over every transport", async () => {
    const seen: string[] = [];
    const watch = definePlugin({
      name: "watch",
      admit: ({ client, principal }) => void seen.push(`${client} ${principal?.name}`),
      session: ({ principal }) => void seen.push(`session ${principal?.name}`),
    });
    const server = await start({ plugins: [byName(), watch] });
    const post = (path: string, body: unknown) =>
      fetch(`${server.url}${path}`, {
        method: "POST",
        headers: { ...as("ada"), "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const take = () => seen.splice(0);
    await (await open(server, "/ws", as("ada"))).ask(RESET);
    expect(take()).toEqual(["websocket ada", "session ada"]);
    await (await open(server, "/session/the-session-of-ada/ws", as("ada"))).ask(RESET);
    expect(take()).toEqual(["websocket ada", "session ada"]);
    await (await open(server, "/ws?openenv=batch", as("ada"))).ask({ type: "open_many", data: { count: 1 } });
    expect(take()).toEqual(["batch ada", "session ada"]);
    await post("/reset", {});
    expect(take()).toEqual(["http ada", "session ada"]);
    await post("/step", { action: { amount: 1 } });
    expect(take()).toEqual(["http ada", "session ada"]);
    await post("/mcp", { jsonrpc: "2.0", id: 1, method: "openenv/session/create", params: {} });
    expect(take()).toEqual(["mcp ada", "session ada"]);
  });
});

describe("admit()", () => {
  test("refuses before a factory runs, and releases what it holds once", async () => {
    let held = 0;
    const quota = definePlugin({
      name: "quota",
      admit() {
        if (held === 2) return { code: "CAPACITY_REACHED", message: "two sessions for each" };
        held++;
        return { [Symbol.dispose]: () => void held-- };
      },
    });
    const counter = defineCounter();
    const server = await start({ plugins: [quota], maxConcurrentEnvs: 3 }, counter);
    const sockets = [await open(server), await open(server)];
    for (const socket of sockets) await socket.ask(RESET);
    expect([held, counter.log.created]).toEqual([2, 2]);
    expect(codeOf(await (await open(server)).receive())).toBe("CAPACITY_REACHED");
    expect(counter.log.created).toBe(2);
    sockets[0]?.ws.close();
    await expect.poll(() => held).toBe(1);
    await (await open(server)).ask(RESET);
    expect(held).toBe(2);
  });

  test.each([
    ["sync", undefined],
    ["async", Promise.resolve()],
  ] as const)("releases what it holds (%s) for a peer that gets no slot", async (_kind, before) => {
    let held = 0;
    const hold = (): Disposable => {
      held++;
      return { [Symbol.dispose]: () => void held-- };
    };
    const quota = definePlugin({ name: "quota", admit: () => (before === undefined ? hold() : before.then(hold)) });
    const server = await start({ plugins: [quota], maxConcurrentEnvs: 1, queueSize: 1 });
    await (await open(server)).ask(RESET);
    const waiting = await open(server);
    await expect.poll(() => held).toBe(2);
    expect(codeOf(await (await open(server)).receive())).toBe("CAPACITY_REACHED");
    expect(held).toBe(2);
    waiting.ws.terminate();
    await expect.poll(() => held).toBe(1);
  });
});

describe("a hook of access that returns something else", () => {
  test.each<[string, object]>([
    ["authorize() false", { authorize: () => false }],
    ["authorize() true, later", { authorize: async () => true }],
    ["authorize() a principal without a name", { authorize: () => ({ claims: {} }) }],
    ["admit() false", { admit: () => false }],
    ["admit() an id, later", { admit: async () => "7" }],
    ["authorize() a refusal with an unknown code", { authorize: () => ({ code: "NO", message: "not you" }) }],
    [
      "admit() an error of the system, later",
      { admit: async () => Object.assign(new Error("full"), { code: "ENOSPC" }) },
    ],
    ["session() a refusal with an unknown code", { session: () => ({ code: "toString", message: "not you" }) }],
    ["session() a promise", { session: async () => ({ record: () => {} }) }],
    ["session() a misspelled hook", { session: () => ({ recrod: () => {} }) }],
  ])("lets no peer in: %s", async (_what, hooks) => {
    const { url } = await start({ ...WITH_OPERATOR, plugins: [{ name: "audit", ...hooks } as ServerPlugin] });
    const headers = { "content-type": "application/json" };
    const refused = await fetch(`${url}/reset`, { method: "POST", headers, body: "{}" });
    expect([refused.status, (await refused.json()).code]).toEqual([503, "PLUGIN_FAILED"]);
  });
});
