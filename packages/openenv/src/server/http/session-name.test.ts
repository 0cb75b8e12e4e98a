import { describe, expect, onTestFinished, test } from "vitest";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { AS_OPERATOR, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { startLimited } from "../../../../../test-support/servers/limited-server.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import type { RunningServer } from "../types.js";

const { start, open } = useServers();
const NAME = "episode-0001-abcdef";
const NAMED = { "x-openenv-session-id": NAME };
const JSON_TYPE = { "content-type": "application/json" };
const MB = 1024 * 1024;
const ONE = { action: { amount: 1 } };

async function send(server: RunningServer, path: string, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const init = body === undefined ? { headers } : { method: "POST", headers: { ...JSON_TYPE, ...headers }, body: text };
  const response = await fetch(server.url + path, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer };
}

interface Answer {
  observation: { count: number };
  detail: string;
  code: string;
  openenv_code?: string;
  episode_id: string | null;
}

const countOf = async (answer: ReturnType<typeof send>): Promise<number> => (await answer).body.observation.count;

describe("the header X-OpenEnv-Session-Id", () => {
  test("names a session, as the path /session/<name> does, and sets no cookie", async () => {
    const server = await start();
    const begun = await send(server, "/reset", {}, NAMED);
    expect([begun.status, begun.headers.get("set-cookie"), begun.headers.get("openenv-warning")]).toEqual([
      200,
      null,
      null,
    ]);
    expect(await countOf(send(server, "/step", ONE, NAMED))).toBe(1);
    expect(await countOf(send(server, "/step/", ONE, NAMED))).toBe(2);
    expect(await countOf(send(server, `/session/${NAME}/step`, ONE))).toBe(3);
    expect((await send(server, "/state", undefined, NAMED)).body).toMatchObject({ step_count: 3 });
    const rpc = { jsonrpc: "2.0", id: 1, method: "openenv/session/create" };
    expect((await send(server, "/mcp", rpc, NAMED)).body).toMatchObject({
      result: { session_id: begun.headers.get("openenv-session") },
    });
    expect(await countOf(send(server, "/step", ONE, { "x-openenv-session-id": `${NAME}-2` }).then(skipEpisode))).toBe(
      0,
    );
    expect(server.capacity().active_sessions).toBe(2);
  });

  test("names the session of a socket, which refuses a second one", async () => {
    const server = await start();
    await send(server, "/reset", {}, NAMED);
    const socket = await open(server, "/ws", NAMED);
    expect(await socket.ask({ type: "step", data: { amount: 1 } })).toMatchObject({
      data: { observation: { count: 1 } },
    });
    const second = await open(server, "/ws", NAMED);
    expect(await second.ask({ type: "state" })).toMatchObject({ data: { code: "SESSION_IN_USE" } });
    expect(server.capacity().active_sessions).toBe(1);
  });

  test("of a session that was ended is remembered: a step is NO_EPISODE until the next reset", async () => {
    const server = await start(WITH_OPERATOR);
    const id = (await send(server, "/reset", {}, NAMED)).headers.get("openenv-session");
    await fetch(`${server.url}/sessions/${id}`, { method: "DELETE", headers: AS_OPERATOR });
    expect((await send(server, "/step", ONE, NAMED)).body).toMatchObject({ openenv_code: "NO_EPISODE" });
    expect((await send(server, "/reset", {}, NAMED)).status).toBe(200);
    expect(await countOf(send(server, "/step", ONE, NAMED))).toBe(1);
  });

  test.each(["episode-1", "", "a name with spaces", "x".repeat(129), "run.7.worker.3.5f1c9a"])(
    "%j is 400 with an example where a session is used, and ignored elsewhere",
    async (name) => {
      const server = await start();
      const headers = { "x-openenv-session-id": name };
      const rpc = { jsonrpc: "2.0", id: 1, method: "ping" };
      for (const [path, body] of [
        ["/reset", {}],
        ["/step", ONE],
        ["/state"],
        ["/mcp", rpc],
        ["/%72eset", {}],
      ] as const) {
        const { status, body: answer } = await send(server, path, body, headers);
        expect([path, status, answer.code]).toEqual([path, 400, "SESSION_ERROR"]);
        expect(answer.detail).toContain("16 to 128 characters");
        expect(answer.detail).toContain("X-OpenEnv-Session-Id: run-7_worker-3_5f1c9a");
      }
      await expect(open(server, "/ws", headers)).rejects.toThrow(/400/);
      for (const path of ["/health", "/schema", "/metadata"]) {
        expect((await send(server, path, undefined, headers)).status).toBe(200);
      }
      expect(server.capacity().active_sessions).toBe(0);
    },
  );

  test("and the id of another session contradict each other", async () => {
    const server = await start();
    const other = (await send(server, "/reset", {})).headers.get("openenv-session") ?? "";
    await send(server, "/reset", {}, NAMED);
    const answer = await send(server, "/step", ONE, { ...NAMED, "openenv-session": other });
    expect(answer).toMatchObject({ status: 404, body: { code: "SESSION_ERROR" } });
  });
});

/** A step of a name without an episode opens its session and is refused. */
function skipEpisode(answer: Awaited<ReturnType<typeof send>>): Awaited<ReturnType<typeof send>> {
  expect(answer.body).toMatchObject({ openenv_code: "NO_EPISODE" });
  return { ...answer, body: { ...answer.body, observation: { count: 0 } } };
}

describe("a client without cookies and headers", () => {
  test("gets a warning with each step and state that names no session", async () => {
    const server = await start();
    expect((await send(server, "/reset", {})).headers.get("openenv-warning")).toBeNull();
    for (const [path, body] of [["/step", ONE], ["/step", ONE], ["/state"]] as const) {
      const { status, headers } = await send(server, path, body);
      expect(status).toBe(200);
      expect(headers.get("openenv-warning")).toMatch(/names no session.*openenv-session.*X-OpenEnv-Session-Id/);
    }
  });

  test("is remembered, up to a number of clients", async () => {
    const { environment } = defineCounter();
    const unnamed = new Set<string>();
    const server = await startLimited(environment, MB, { unnamed });
    onTestFinished(() => server.close());
    const ask = () => fetch(`${server.url}/state`);
    expect([(await ask()).status, (await ask()).status, [...unnamed]]).toEqual([200, 200, ["127.0.0.1"]]);
    unnamed.clear();
    for (let client = 0; client < 1_000; client++) unnamed.add(`client ${client}`);
    expect((await ask()).headers.get("openenv-warning")).not.toBeNull();
    expect(unnamed.size).toBe(1_000);
  });

  test("gets none if it asks for no session, or names one", async () => {
    const server = await start();
    const id = (await send(server, "/reset", {})).headers.get("openenv-session") ?? "";
    for (const session of ["none", id]) {
      const { headers } = await send(server, "/step", ONE, { "openenv-session": session });
      expect(headers.get("openenv-warning")).toBeNull();
    }
  });
});

describe("a body without a JSON content type", () => {
  const types = ["application/x-www-form-urlencoded", "text/plain", ""];
  test.each(types)("of %j is read as JSON by /reset and /step", async (type) => {
    const server = await start();
    const headers = { ...NAMED, "content-type": type };
    expect(await countOf(send(server, "/reset", { start: 3 }, headers))).toBe(3);
    expect(await countOf(send(server, "/step", ONE, headers))).toBe(4);
    expect((await send(server, "/reset", "seed=1", headers)).body.detail).toMatchObject([{ type: "json_invalid" }]);
  });

  test.each(types)("of %j is refused from a page, which needs no permission to send it", async (type) => {
    const server = await start();
    const headers = { ...NAMED, "content-type": type, origin: server.url };
    expect((await send(server, "/reset", {}, headers)).status).toBe(422);
    expect((await send(server, "/step", ONE, headers)).status).toBe(422);
    expect(server.capacity().active_sessions).toBe(0);
  });
});
