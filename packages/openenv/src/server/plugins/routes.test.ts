import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test, vi } from "vitest";
import { AS_OPERATOR, fetchAsOperator, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { definePlugin, type ServerPlugin } from "./index.js";

// Each starts servers, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { start } = useServers();
const fail = (): never => {
  throw new Error("the plugin is broken");
};

async function failures(url: string): Promise<number> {
  const metrics = await (await fetchAsOperator(`${url}/metrics`)).text();
  return Number(/^openenv_plugin_failures_total\{worker="0",plugin="audit"\} (\d+)$/m.exec(metrics)?.[1]);
}

/** The answer to a request whose target and Host are sent as they are. */
async function sendRaw(url: string, target: string, host = "localhost"): Promise<{ status: number; body: string }> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const [head = "", body = ""] = (await text(socket)).split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), body };
}

describe("routes of a plugin", () => {
  const route = (path: string, given: NonNullable<ServerPlugin["routes"]>[string]) =>
    definePlugin({ name: "own", routes: { [path]: given } });

  test("get a request, answer with a response, and need the client token unless they say open", async () => {
    const { url } = await start({
      ...WITH_OPERATOR,
      clientToken: "of-clients",
      plugins: [
        definePlugin({
          name: "own",
          routes: {
            "/count": {
              POST: async (request, { server }) => {
                const { amount } = (await request.json()) as { amount: number };
                return Response.json({ amount, path: new URL(request.url).pathname, env: server.environment });
              },
            },
            "/about/*": { access: "open", GET: (request) => new Response(new URL(request.url).pathname) },
            "/report": { access: "operator", GET: () => new Response("for operators") },
          },
        }),
      ],
    });
    const post = (token: string) =>
      fetch(`${url}/count`, { method: "POST", headers: { authorization: `Bearer ${token}` }, body: '{"amount":3}' });
    expect(await (await post("of-clients")).json()).toEqual({ amount: 3, path: "/count", env: "counter_env" });
    expect((await post("wrong")).status).toBe(401);
    expect(await (await fetch(`${url}/about/us/all`)).text()).toBe("/about/us/all");
    expect((await fetch(`${url}/about`)).status).toBe(404);
    expect((await fetch(`${url}/count`, { headers: { authorization: "Bearer of-clients" } })).status).toBe(405);
    expect((await fetch(`${url}/report`, { headers: { authorization: "Bearer of-clients" } })).status).toBe(401);
    expect(await (await fetchAsOperator(`${url}/report`)).text()).toBe("for operators");
  });

  test("are decided by the method: a route for readers does not open its other methods", async () => {
    const answer = () => new Response("in");
    const routes = {
      "/read": { access: { GET: "viewer" }, GET: answer, POST: answer },
      "/seen": { access: { GET: "open" }, GET: answer, POST: answer },
    } as const;
    const settings = { ...WITH_OPERATOR, clientToken: "of-clients", viewerToken: "of-readers" };
    const { url } = await start({ ...settings, plugins: [definePlugin({ name: "own", routes })] });
    const status = async (method: string, path: string, token?: string) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      return (await fetch(url + path, { method, headers })).status;
    };
    expect([await status("GET", "/read"), await status("GET", "/read", "of-readers")]).toEqual([401, 200]);
    expect([await status("POST", "/read"), await status("POST", "/read", "of-readers")]).toEqual([401, 401]);
    expect([await status("GET", "/seen"), await status("POST", "/seen")]).toEqual([200, 401]);
    for (const path of ["/read", "/seen"]) expect(await status("POST", path, "of-clients")).toBe(200);
  });

  test("are closed to other origins and hosts", async () => {
    const { url } = await start({ plugins: [route("/own", { POST: () => new Response("in") })] });
    const send = (headers: Record<string, string>) => fetch(`${url}/own`, { method: "POST", headers });
    expect((await send({})).status).toBe(200);
    expect((await send({ origin: "https://evil.example" })).status).toBe(403);
  });

  test("that fail are counted, and the server continues", async () => {
    const audit = definePlugin({ name: "audit", routes: { "/own": { GET: fail } } });
    const { url } = await start({ ...WITH_OPERATOR, plugins: [audit] });
    const answer = await fetch(`${url}/own`);
    expect([answer.status, (await answer.json()).code]).toEqual([503, "PLUGIN_FAILED"]);
    expect(await failures(url)).toBe(1);
  });

  test.each([
    ["/app/../admin/x", 404],
    ["/app/%2e%2e/admin/x", 404],
    ["/app/..%2Fadmin/x", 404],
    ["/app/%2e%2e%5Cadmin/x", 404],
    ["/app/a/./b", 404],
    ["/app/..", 404],
    ["/app/..\\admin/x", 404],
    ["/app/a\\b", 404],
    ["/app%2Fa", 404],
    ["/app/a#/b", 404],
    ["/app/a/b?to=/../x", 200],
    ["/app/a%2Fb", 200],
    ["/app/..a/b..", 200],
    ["/app/%C3%A9%20x", 200],
    ["/app/%zz", 404],
    ["/app/%zz%2F..%2F..%2Fadmin", 404],
  ])("handle the path that they have matched: %s is answered %i", async (target, status) => {
    const show = { access: "open", GET: (request: Request) => new Response(new URL(request.url).pathname) } as const;
    const { url } = await start({ clientToken: "of-clients", plugins: [route("/app/*", show)] });
    const answer = await sendRaw(url, target);
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.body).toContain(target.split("?")[0]);
  });

  test.each([
    ["a port that is too high", "/app/a", "localhost:99999"],
    ["a user name", "/app/a", "ada@app.localhost"],
    ["a path", "/app/a", "localhost:80/admin"],
    ["a query", "/app/a", "localhost:80?x"],
    ["an absolute target", "http://elsewhere.example/app/a", "localhost"],
    ["an absolute target that is not a URL", "http://[/app/a", "localhost"],
  ])("refuse a request with %s", async (_what, target, host) => {
    const { url } = await start({ ...WITH_OPERATOR, plugins: [route("/app/*", { GET: () => new Response("in") })] });
    expect(await sendRaw(url, "/app/a")).toMatchObject({ status: 200, body: expect.stringContaining("in") });
    const { status, body } = await sendRaw(url, target, host);
    expect([status, body]).toEqual([400, expect.stringMatching(/"detail":"[^"]*(Host|target)/)]);
  });

  test("answer with all their cookies", async () => {
    const GET = () => {
      const headers = new Headers({ "x-own": "1" });
      for (const cookie of ["a=1; Path=/", "b=2"]) headers.append("set-cookie", cookie);
      return new Response("", { headers });
    };
    const { url } = await start({ plugins: [route("/own", { GET })] });
    const { headers } = await fetch(`${url}/own`);
    expect(headers.getSetCookie()).toEqual(["a=1; Path=/", "b=2"]);
    expect(headers.get("x-own")).toBe("1");
  });

  test("below the longest path are called, whichever plugin is first", async () => {
    const show = (answer: string) => ({ GET: () => new Response(answer) });
    const admin = { ...show("for operators"), access: "operator" } as const;
    const routes = { "/app/*": show("app"), "/app/admin/*": admin, "/app/admin/open/*": show("open") };
    const { url } = await start({ ...WITH_OPERATOR, plugins: [definePlugin({ name: "own", routes })] });
    const read = async (path: string, headers = {}) => (await fetch(`${url}${path}`, { headers })).text();
    expect(await read("/app/x")).toBe("app");
    expect(await read("/app/admin/x")).toContain("this route is for operators");
    expect(await read("/app/admin/x", AS_OPERATOR)).toBe("for operators");
    expect(await read("/app/admin/open/x")).toBe("open");
  });

  test.each<[string, object | number, string]>([
    ["an unknown access", { access: "operators", GET: fail }, 'has the access "operators": it must be'],
    [
      "an access of an unknown method",
      { access: { get: "viewer" }, GET: fail },
      ", in its access, has an unknown member",
    ],
    ["an unknown method", { get: fail }, 'has an unknown member "get"'],
    ["a method that the server does not have", { PUT: fail }, 'has an unknown member "PUT"'],
    ["a handler that is not a function", { GET: "in" }, "has a GET that is not a function"],
    ["a number instead of an object", 3, "must be an object"],
  ])("with %s stop the start", async (_what, given, message) => {
    const refused = start({ plugins: [route("/own", given as NonNullable<ServerPlugin["routes"]>[string])] });
    await expect(refused).rejects.toThrow(
      `The route "/own" of the plugin "own"${message.startsWith(",") ? "" : " "}${message}`,
    );
  });

  test.each([
    "/health",
    "/step",
    "/ws",
    "/mcp",
    "/web/own",
    "/session/*",
    "/sessions/own",
    "/counter_env/tasks",
    "/docs",
    "/splits",
    "/counter_env/call",
  ])("cannot be %s, which the server has in some mode", async (path) => {
    for (const mode of ["simulation", "production"] as const) {
      const refused = start({ mode, plugins: [route(path, { GET: () => new Response("mine") })] });
      await expect(refused).rejects.toThrow(`The route "${path}" of the plugin "own" is one of the server`);
    }
  });
});
