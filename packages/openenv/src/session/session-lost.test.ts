/** `SessionLostError`: on every transport the call is answered with the reason, then the session ends. */
import type { ServeOptions } from "openenv-ts/server";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type IsolatedServer, startIsolated } from "../../../../test-support/environments/isolation.js";
import { initialize, rpc, send } from "../../../../test-support/environments/mcp.js";
import { waitFor } from "../../../../test-support/servers/servers.js";
import { BEGIN, returnTo } from "../../../../test-support/sockets/resumable.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";
import { connectVector } from "../client/index.js";
import { connect } from "../connect.js";

// Starting an isolate takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 60_000 });

/** The reset option, the action and the tool say where the browser crashes; `state` crashes after the step `later`. */
const MODULE = `
import { defineContract, defineEnvironment, defineTools, Rubric, SessionLostError } from "openenv-ts";
import { appendFileSync } from "node:fs";
import * as z from "zod";
const contract = defineContract({
  name: "browser_env",
  action: z.object({ op: z.string().default("look") }),
  observation: z.object({ seen: z.int() }),
  reset: z.object({ lost: z.boolean().default(false) }),
  state: z.object({ seen: z.int() }),
  tools: defineTools({ click: { description: "Clicks.", input: z.object({ lost: z.boolean().default(false) }), output: z.int() } }),
});
const crash = () => { throw new SessionLostError("the browser has crashed"); };
class Judge extends Rubric {
  forward({ op }) { return op === "judge" ? crash() : 1; }
}
export default defineEnvironment(contract, () => {
  let seen = 0;
  let later = false;
  return {
    rubric: new Judge(),
    reset: ({ lost }) => { if (lost) crash(); seen = 0; return { observation: { seen } }; },
    step: async ({ op }) => {
      if (op === "lose") crash();
      if (op === "long") throw new SessionLostError("é".repeat(200));
      if (op === "wait") { await new Promise((resolve) => setTimeout(resolve, 50)); crash(); }
      later ||= op === "later";
      seen++;
      return { observation: { seen } };
    },
    state: () => (later ? crash() : { seen }),
    tools: { click: async ({ lost }) => (lost ? crash() : ++seen) },
    snapshot: () => ({ seen }),
    restore: (saved) => { ({ seen } = saved); },
    close: () => appendFileSync(new URL("./log.txt", import.meta.url), "closed\\n"),
  };
});
`;

let isolated: IsolatedServer | undefined;
afterEach(async () => {
  await isolated?.[Symbol.asyncDispose]();
  isolated = undefined;
});

async function start(options: ServeOptions = {}): Promise<IsolatedServer> {
  return (isolated = await startIsolated({ maxConcurrentEnvs: 1, ...options }, MODULE));
}

const step = (op: string) => ({ type: "step", data: { op } });
const click = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "click", arguments: { lost: true } } };
const LOST = { type: "error", data: { code: "SESSION_LOST", message: "the browser has crashed" } };
const CLOSED = { code: 4000, reason: "the browser has crashed" };

const KINDS: Record<string, ServeOptions> = {
  "in the process": {},
  "in a thread": { isolation: "thread" },
  "in a process": { isolation: "process" },
};

describe.each(Object.entries(KINDS))("an environment %s", (_kind, options) => {
  test("answers with the reason wherever it throws, and the session ends with it", async () => {
    const { open, log } = await start(options);
    const crashes: [before: object, call: object, answer: object][] = [
      [step("look"), { type: "reset", data: { lost: true } }, LOST],
      [step("look"), step("lose"), LOST],
      [step("look"), step("wait"), LOST],
      [step("look"), step("judge"), LOST],
      [step("later"), { type: "state" }, LOST],
      [
        step("look"),
        { type: "step", data: { type: "call_tool", tool_name: "click", arguments: { lost: true } } },
        LOST,
      ],
      [
        step("look"),
        { type: "mcp", data: click },
        {
          data: {
            error: { message: LOST.data.message, data: { error_type: "transport_error", code: "SESSION_LOST" } },
          },
        },
      ],
    ];
    for (const [before, call, answer] of crashes) {
      // There is one slot, which the session before has left.
      const socket = await open();
      await socket.ask({ type: "reset" });
      expect(await socket.ask(before as never)).toMatchObject({ data: { observation: {} } });
      socket.send(call as never, step("look"));
      expect(await socket.receive()).toMatchObject(answer);
      expect(await socket.closed.catch(String)).toEqual(CLOSED);
    }
    const socket = await open();
    await socket.ask({ type: "reset" });
    expect(await socket.ask(step("long"))).toMatchObject({ data: { message: "é".repeat(200) } });
    const { reason } = await socket.closed;
    expect(reason).toMatch(/^é{60}$/);
    await waitFor(() => log().length === 8);
  });
});

test("over HTTP it is 503, and the id is then unknown with the reason", async () => {
  const { server } = await start();
  const post = (path: string, body: object, headers = {}) =>
    fetch(server.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const headers = { "openenv-session": String((await post("/reset", {})).headers.get("openenv-session")) };
  const lost = await post("/step", { action: { op: "lose" } }, headers);
  expect([lost.status, await lost.json()]).toMatchObject([503, { code: "SESSION_LOST", detail: CLOSED.reason }]);
  const next = await post("/step", { action: { op: "look" } }, headers);
  expect([next.status, await next.text()]).toEqual([
    404,
    expect.stringContaining("has ended: the browser has crashed"),
  ]);
});

test("a resumable session is not restored, although the journal could", async () => {
  const { server, open } = await start({ journal: "memory" });
  const socket = await open("/ws?openenv=resume");
  const { data } = (await socket.ask(BEGIN)) as { data: { session_id: string } };
  await socket.ask({ type: "reset", data: {}, seq: 1, ack: 0 });
  expect(await socket.ask({ ...step("lose"), seq: 2, ack: 1 })).toMatchObject({ ...LOST, seq: 2 });
  expect(await socket.closed).toEqual(CLOSED);
  const [, resumed] = await returnTo((of, path) => openTestSocket(of.url + path), server, [data.session_id, undefined]);
  expect(resumed).toMatchObject({ recovered: false, reason: CLOSED.reason });
});

test("by address everything but a reset is refused until the next episode", async () => {
  const { open } = await start();
  const path = "/session/run-7_worker-3_5f1c9a/ws";
  const first = await open(path);
  await first.ask({ type: "reset" });
  expect(await first.ask(step("lose"))).toMatchObject(LOST);
  expect(await first.closed).toEqual(CLOSED);
  const second = await open(path);
  expect(await second.ask(step("look"))).toMatchObject({
    data: { openenv_code: "NO_EPISODE", message: expect.stringContaining("the browser has crashed") },
  });
  expect(await second.ask({ type: "reset" })).toMatchObject({ data: { observation: { seen: 0 } } });
});

test.each([[{}], [{ _meta: {} }]])("an MCP client gets an error of the protocol, and no result: %j", async (more) => {
  const { server } = await start();
  const session = await initialize(server.url);
  const call = { ...rpc, id: 1, method: "tools/call", params: { name: "click", arguments: { lost: true }, ...more } };
  const answer = await (await send(server.url, call, session)).json();
  expect(answer).toMatchObject({ error: { code: -32603, message: expect.stringContaining(CLOSED.reason) } });
  expect((await send(server.url, call, session)).status).toBe(404);
});

test.each([false, true])(
  "a client reports the outcome lost, and its next reset opens a session: resume %s",
  async (resume) => {
    const { server } = await start({ journal: "memory" });
    await using env = await connect(server.url, { resume });
    for (let episode = 0; episode < 2; episode++) {
      await env.reset();
      const error = { code: "SESSION_LOST", message: expect.stringContaining("the browser has crashed") };
      expect(await env.tryStep({ op: "lose" })).toMatchObject({ outcome: "lost", done: true, reward: null, error });
      expect(await env.tryStep({ op: "look" })).toMatchObject({ outcome: "lost", error });
    }
    expect(await env.tryReset({ lost: true })).toMatchObject({ outcome: "lost" });
    expect(await env.tryReset()).toMatchObject({ outcome: "ok" });
  },
);

test("a vector client loses the sessions concerned alone, and a reset that is lost is not repeated", async () => {
  const { server } = await start({ maxConcurrentEnvs: 3 });
  await using envs = await connectVector(server.url, { size: 3 });
  await envs.reset();
  const outcomes = (results: readonly ({ outcome: string } | null)[]) => results.map((one) => one?.outcome);
  expect(outcomes(await envs.step([{ op: "look" }, { op: "lose" }, { op: "look" }]))).toEqual(["ok", "lost", "ok"]);
  const reset = await envs.reset([null, { lost: true }, null]);
  expect(outcomes(reset)).toEqual([undefined, "lost", undefined]);
  expect(outcomes(await envs.reset([null, {}, null]))).toEqual([undefined, "ok", undefined]);
  expect(outcomes(await envs.step([{ op: "look" }, { op: "look" }, { op: "look" }]))).toEqual(["ok", "ok", "ok"]);
});

test("in process the client loses its session, too", async () => {
  const { url } = await start();
  const { default: environment } = await import(url.href);
  await using env = await connect(environment);
  await env.reset();
  expect(await env.tryStep({ op: "lose" })).toMatchObject({ outcome: "lost", error: { code: "SESSION_LOST" } });
  expect(await env.tryReset()).toMatchObject({ outcome: "ok" });
});
