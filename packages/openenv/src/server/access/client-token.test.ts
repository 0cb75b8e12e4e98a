import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { defineDesk } from "../../../../../test-support/environments/tool-environment.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { connect } from "../../connect.js";
import { SUBPROTOCOL, TOKEN_SUBPROTOCOL } from "../../protocol/messages.js";
import type { RunningServer } from "../types.js";

const { start, open } = useServers();

const TOKEN = "client s3cret";
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const guarded = (options = {}) => start({ clientToken: TOKEN, ...options }, defineDesk());

/** The HTTP response to an upgrade request. */
async function refusal({ url }: RunningServer, path: string, headers: Record<string, string> = {}) {
  const ws = new WebSocket(url.replace("http", "ws") + path, { headers });
  ws.on("error", () => {});
  const [, response] = await once(ws, "unexpected-response");
  ws.terminate();
  return response as { statusCode: number; headers: Record<string, string> };
}

describe("a server with a client's token", () => {
  test("rejects an upgrade without it with 401, before a slot is taken", async () => {
    const server = await guarded({ maxConcurrentEnvs: 1 });
    const near = [TOKEN.slice(0, -1), `${TOKEN}x`, ""].map(bearer);
    const sent = [{}, bearer("wrong"), ...near, { authorization: TOKEN }, { cookie: `token=${TOKEN}` }];
    const paths = ["/ws", "/mcp", "/ws/ui", "/ws?session_id=x"];
    // Together, because the answers to further wrong tokens wait.
    const refusals = paths.flatMap((path) => sent.map((headers) => refusal(server, path, headers)));
    for (const { statusCode, headers } of await Promise.all(refusals)) {
      expect([statusCode, headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    }
    expect(server.capacity().active_sessions).toBe(0);
    const socket = await open(server, "/ws", bearer(TOKEN));
    expect(await socket.ask({ type: "reset" })).toMatchObject({ type: "observation" });
  });

  test("accepts a page that offers it as a subprotocol", async () => {
    const { url } = await guarded();
    const offered = [SUBPROTOCOL, TOKEN_SUBPROTOCOL + Buffer.from(TOKEN).toString("base64url")];
    const ws = new WebSocket(`${url.replace("http", "ws")}/ws`, offered);
    await once(ws, "open");
    expect(ws.protocol).toBe(SUBPROTOCOL);
    ws.terminate();
  });

  test.each([
    ["POST", "/reset"],
    ["POST", "/step"],
    ["GET", "/state"],
    ["POST", "/mcp"],
    ["GET", "/mcp"],
    ["DELETE", "/mcp"],
    ["GET", "/schema"],
    ["GET", "/metadata"],
    ["GET", "/docs"],
    ["GET", "/openapi.json"],
    ["GET", "/list_environments"],
    ["POST", "/desk_env/tasks"],
    ["GET", "/web/info"],
    ["GET", "/web/metadata"],
    ["POST", "/web/reset"],
    ["GET", "/sessions"],
  ])("answers %s %s without it with 401 and a code", async (method, path) => {
    const { url, capacity } = await guarded();
    for (const headers of [{}, bearer("wrong")]) {
      const response = await fetch(url + path, { method, headers });
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
      const text = await response.text();
      expect(JSON.parse(text)).toMatchObject({ code: "UNAUTHORIZED", detail: expect.stringContaining("CLIENT_TOKEN") });
      expect(text).not.toContain(TOKEN);
    }
    expect(capacity().active_sessions).toBe(0);
    const allowed = await fetch(url + path, { method, headers: bearer(TOKEN) });
    expect(allowed.status === 401).toBe(path === "/sessions");
  });

  test.each(["/health", "/", "/web", "/web/"])("answers %s without a token", async (path) => {
    const { url } = await guarded();
    const { status } = await fetch(url + path, { redirect: "manual" });
    expect([200, 307]).toContain(status);
  });

  test("accepts an operator and an orchestrator as clients", async () => {
    const server = await guarded({ operatorToken: "operates", orchestratorToken: "drives" });
    for (const token of ["operates", "drives", TOKEN]) {
      expect((await fetch(`${server.url}/schema`, { headers: bearer(token) })).status).toBe(200);
      await open(server, "/ws", bearer(token));
    }
  });

  test("sets a cookie for a page that sends the token, with the rights of a client only", async () => {
    const server = await guarded({ operatorToken: "operates", mode: "production", orchestratorToken: "drives" });
    const cookies = [];
    for (const token of [TOKEN, "operates", "drives"]) {
      const { headers } = await fetch(`${server.url}/openapi.json`, { headers: bearer(token) });
      const [cookie = "", ...attributes] = headers.getSetCookie()[0]?.split("; ") ?? [];
      expect(attributes).toEqual(["Path=/", "HttpOnly", "SameSite=Strict"]);
      cookies.push(cookie);
    }
    const [cookie = ""] = new Set(cookies);
    expect(cookies).toEqual([cookie, cookie, cookie]);
    expect(cookie).toMatch(new RegExp(`^openenv_client_${server.port}=[\\w-]{43}$`));
    const statusOf = async (path: string, sent: string) =>
      (await fetch(server.url + path, { headers: { cookie: sent } })).status;
    const wrong = [`${cookie}x`, cookie.replace(/=.*/, `=${TOKEN}`)];
    for (const path of ["/docs", "/redoc", "/schema", "/openapi.json"]) {
      expect(await statusOf(path, `other=1; ${cookie}`)).toBe(200);
      expect(await Promise.all(wrong.map((sent) => statusOf(path, sent)))).toEqual([401, 401]);
    }
    expect(await statusOf("/sessions", cookie)).toBe(401);
    const socket = await open(server, "/ws", { cookie });
    expect(await socket.ask({ type: "reset" })).toMatchObject({ data: { code: "FORBIDDEN" } });
  });

  test("sets no cookie without the token, on a server without a token, or on other routes", async () => {
    const { url } = await guarded();
    const cookiesOf = async (address: string, headers: Record<string, string>) =>
      (await fetch(address, { headers })).headers.getSetCookie();
    expect(await cookiesOf(`${url}/openapi.json`, {})).toEqual([]);
    expect(await cookiesOf(`${url}/openapi.json`, bearer("wrong"))).toEqual([]);
    expect(await cookiesOf(`${url}/schema`, bearer(TOKEN))).toEqual([]);
    const open = await start({ operatorToken: "operates" }, defineDesk());
    expect(await cookiesOf(`${open.url}/openapi.json`, bearer("operates"))).toEqual([]);
  });

  test("asks a browser that opens a documentation page for the token, and ignores tokens in the URL", async () => {
    const { url } = await guarded();
    for (const path of ["/docs", "/redoc", `/docs?token=${TOKEN}`]) {
      const page = await fetch(url + path, { headers: { accept: "text/html,*/*;q=0.8" } });
      expect(page.status).toBe(401);
      expect(page.headers.get("content-type")).toContain("text/html");
      const [, script = ""] = /<script src="([^"]+)">/.exec(await page.text()) ?? [];
      expect((await fetch(new URL(script, page.url))).status).toBe(200);
    }
  });

  test("accepts our client with the token, and names the setting to a client without it", async () => {
    const { url } = await guarded();
    await using env = await connect(url, { token: TOKEN });
    expect((await env.reset()).done).toBe(false);
    await expect(connect(url)).rejects.toThrow("OPENENV_CLIENT_TOKEN");
    await expect(connect(url, { check: false }).then((client) => client.reset())).rejects.toThrow("401");
  });
});

test("every peer is a client of a server without a token", async () => {
  const server = await start({}, defineDesk());
  expect((await fetch(`${server.url}/schema`)).status).toBe(200);
  await open(server);
});
