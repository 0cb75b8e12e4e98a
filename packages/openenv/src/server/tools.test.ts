import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineDesk } from "../../../../test-support/environments/tool-environment.js";
import { speedUpTimers } from "../../../../test-support/fast-timers.js";
import { useServers, waitFor } from "../../../../test-support/servers/servers.js";
import type { TestSocket } from "../../../../test-support/sockets/socket.js";
import { connect } from "../connect.js";
import { defineContract, defineEnvironment, defineTools } from "../index.js";

const { start, open } = useServers();

const RESET = { type: "reset" };
const LIST = { type: "step", data: { type: "list_tools" } };
const call = (tool_name: string, given: object = {}) => ({
  type: "step",
  data: { type: "call_tool", tool_name, arguments: given },
});
const rpc = (name: string, given: object = {}, more: object = {}) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: given, ...more },
});
const frame = (data: object) => ({ type: "mcp", data });

async function post(url: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/mcp`, { method: "POST", body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}

/** The answer of each transport to the same call: the type of the error, or the data. */
async function askAll(url: string, socket: TestSocket, [name, given]: [string, object?]) {
  const mcp = await open({ url } as never, "/mcp");
  const told = ({ result, error }: Told) => error?.data.error_type ?? result?.data;
  const step = (await socket.ask(call(name, given))) as { data: { observation: Told & { error?: StepError } } };
  const { result, error } = step.data.observation;
  return {
    step: (error as StepError | null)?.error_type ?? result?.data,
    frame: told((await socket.ask(frame(rpc(name, given))))["data"] as Told),
    socket: told((await mcp.ask(rpc(name, given))) as Told),
    http: told((await post(url, rpc(name, given))) as Told),
  };
}
type StepError = { error_type: string };
type Told = { result?: { data: unknown }; error?: { data: StepError } };

describe("the tools of an environment", () => {
  test.each([
    ["add", { a: 2 }, 3],
    ["add", { a: "5", b: 4.0 }, 9],
    ["add", {}, "invalid_args"],
    ["add", { a: "x" }, "invalid_args"],
    ["add", { a: 1, z: 1 }, "invalid_args"],
    ["nope", {}, "tool_not_found"],
    ["constructor", {}, "tool_not_found"],
    ["fail", { why: "s" }, "execution_error"],
    ["wrong", {}, "execution_error"],
    ["unreachable", {}, "transport_error"],
  ] as [string, object, unknown][])("answer alike on every transport: %s %j is %j", async (name, given, expected) => {
    const server = await start({}, defineDesk());
    const socket = await open(server);
    await socket.ask(RESET);
    const answers = await askAll(server.url, socket, [name, given]);
    expect(answers).toEqual({ step: expected, frame: expected, socket: expected, http: expected });
    expect(await socket.ask(call("tally"))).toMatchObject({ data: { observation: { result: { data: 1 } } } });
  });

  test("have state that belongs to the session on every transport, and count a step only as a step", async () => {
    const server = await start({}, defineDesk());
    const created = (await post(server.url, { jsonrpc: "2.0", id: 1, method: "openenv/session/create" })) as {
      result: { session_id: string };
    };
    const { session_id } = created.result;
    const socket = await open(server, `/ws?session_id=${session_id}`);
    await socket.ask(RESET);
    expect(await socket.ask(call("tally"))).toMatchObject({ data: { observation: { result: { data: 1 } } } });
    expect(await socket.ask(frame(rpc("tally")))).toMatchObject({ data: { result: { data: 2 } } });
    expect(await post(server.url, rpc("tally", {}, { session_id }))).toMatchObject({ result: { data: 3 } });
    expect(await post(server.url, rpc("tally"))).toMatchObject({ result: { data: 1 } });
    expect(await socket.ask({ type: "state" })).toMatchObject({ data: { step_count: 1 } });
  });

  test("can be listed before any reset, and be called by a step after one", async () => {
    const socket = await open(await start({}, defineDesk()));
    const { data } = (await socket.ask(LIST)) as { data: { observation: { tools: { name: string }[] } } };
    expect(data).toMatchObject({ reward: 0, done: false });
    expect(data.observation.tools.map(({ name }) => name)).toContain("practice");
    expect(await socket.ask(call("tally"))).toMatchObject({
      data: { code: "EXECUTION_ERROR", message: expect.stringMatching(/reset first/) },
    });
    expect(await socket.ask(frame(rpc("tally")))).toMatchObject({ data: { result: { data: 1 } } });
  });

  test("earn the environment's reward, 0 for an agent's fault, and null for a failure", async () => {
    await using env = await connect(defineDesk().environment);
    await env.reset();
    const reward = async (tool_name: string, given = {}) => (await env.step({ tool_name, arguments: given })).reward;
    expect(await reward("add", { a: 1 })).toBe(0);
    expect(await reward("add")).toBe(0);
    expect(await reward("nope")).toBe(0);
    expect(await reward("fail", { why: "s" })).toBeNull();
    expect(await reward("unreachable")).toBeNull();
    expect(await reward("late")).toBeNull();
    expect(await env.step({ tool_name: "tally" })).toMatchObject({ reward: 0.5, done: false });
    expect((await env.step({ tool_name: "tally" })).done).toBe(true);
  });

  test("are called one at a time in a session, in the order of the calls", async () => {
    const server = await start({}, defineDesk());
    const { result } = (await post(server.url, { jsonrpc: "2.0", id: 1, method: "openenv/session/create" })) as never;
    const { session_id } = result as { session_id: string };
    const calls = Array.from({ length: 5 }, () => post(server.url, rpc("count", {}, { session_id })));
    const told = (await Promise.all(calls)) as Told[];
    expect(told.map(({ result }) => result?.data).sort()).toEqual([1, 2, 3, 4, 5]);
  });

  test("that cannot be called do not create an environment", async () => {
    const { environment, log } = defineDesk();
    const server = await start({}, { environment });
    await post(server.url, { jsonrpc: "2.0", id: 1, method: "tools/list" });
    await post(server.url, rpc("nope"));
    await post(server.url, rpc("add"));
    expect(log.created).toBe(0);
    await post(server.url, rpc("tally"));
    expect(log.created).toBe(1);
  });

  test("of one mode are missing in the other", async () => {
    const answers = async (mode: "simulation" | "production") => {
      const socket = await open(await start({ mode }, defineDesk()));
      await socket.ask(RESET);
      const { data } = (await socket.ask(LIST)) as { data: { observation: { tools: { name: string }[] } } };
      const listed = data.observation.tools.map(({ name }) => name).filter((name) => /practice|serious/.test(name));
      const outcome = async (name: string) =>
        ((await socket.ask(call(name))) as { data: { observation: { error?: StepError } } }).data.observation.error
          ?.error_type ?? "ok";
      return [listed, await outcome("practice"), await outcome("serious")];
    };
    expect(await answers("simulation")).toEqual([["practice"], "ok", "tool_not_found"]);
    expect(await answers("production")).toEqual([["serious"], "tool_not_found", "ok"]);
  });

  test("report in production only the messages that their author intended", async () => {
    const server = await start({ mode: "production" }, defineDesk());
    const text = async (name: string, given = {}) => JSON.stringify(await post(server.url, rpc(name, given)));
    expect(await text("fail", { why: "hunter2" })).not.toContain("hunter2");
    expect(await text("unreachable")).toContain("nobody is there");
  });
});

describe("the time of a call", () => {
  test("of a tool is limited on every transport: the tool is notified, and the session continues", async () => {
    const { environment, log } = defineDesk();
    const server = await start({}, { environment });
    const socket = await open(server);
    await socket.ask(RESET);
    const timeout = "timeout";
    expect(await askAll(server.url, socket, ["late"])).toEqual({
      step: timeout,
      frame: timeout,
      socket: timeout,
      http: timeout,
    });
    expect(log.aborted).toHaveLength(4);
    expect(log.aborted[0]).toMatch(/"late" did not answer within 0.02 s/);
    expect(await socket.ask(call("tally"))).toMatchObject({ data: { observation: { result: { data: 1 } } } });
  });

  test("of a tool is not that of its step: afterTool has a signal that is not aborted", async () => {
    const tools = defineTools({ late: { description: "Waits until it is aborted.", timeoutMs: 20 } });
    const environment = defineEnvironment(defineContract({ name: "late_env", tools }), () => ({
      reset: () => ({ observation: {} }),
      afterTool: ({ error }, { signal }) => ({ metadata: { failed: error?.error_type, aborted: signal.aborted } }),
      tools: { late: (_input, { signal }) => new Promise((end) => signal.addEventListener("abort", end)) },
    }));
    await using env = await connect(environment);
    await env.reset();
    const { metadata } = await env.step({ tool_name: "late" });
    expect(metadata).toMatchObject({ failed: "timeout", aborted: false });
  });

  test("makes the next call wait for a handler that cleans up after its timeout", async () => {
    const socket = await open(await start({}, defineDesk()));
    await socket.ask(RESET);
    socket.send(call("tidy"), call("count"), call("count"));
    const { data } = (await socket.receive()) as { data: { observation: { error: StepError } } };
    expect(data.observation.error.error_type).toBe("timeout");
    expect(await socket.receive()).toMatchObject({ data: { observation: { result: { data: 1 } } } });
    expect(await socket.receive()).toMatchObject({ data: { observation: { result: { data: 2 } } } });
  });

  test("is limited to 30 s by default", async () => {
    vi.useFakeTimers();
    try {
      await using env = await connect(defineDesk().environment);
      await env.reset();
      const answer = env.step({ tool_name: "hang" });
      let answered = false;
      void answer.then(() => (answered = true));
      await vi.advanceTimersByTimeAsync(29_999);
      expect(answered).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      const { error } = (await answer).observation;
      expect(error).toEqual({ error_type: "timeout", message: expect.stringContaining("within 30 s") });
      await vi.advanceTimersByTimeAsync(60_000);
    } finally {
      vi.useRealTimers();
    }
  });

  test("can be longer than the maximum of a timer", async () => {
    const server = await start({}, defineDesk());
    const body = JSON.stringify({ action: { tool_name: "pause" }, timeout_s: 1e9 });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${server.url}/step`, { method: "POST", headers, body });
    expect(await response.json()).toMatchObject({ observation: { result: { data: "rested" }, error: null } });
  });

  test("ends when the caller cancels or disconnects", async () => {
    const { environment, log } = defineDesk();
    const server = await start({}, { environment });
    const body = JSON.stringify({ action: { tool_name: "hang" }, timeout_s: 0.02 });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${server.url}/step`, { method: "POST", headers, body });
    expect(await response.json()).toMatchObject({ observation: { error: { error_type: "timeout" } }, reward: null });
    const leaving = new AbortController();
    const left = fetch(`${server.url}/mcp`, {
      method: "POST",
      body: JSON.stringify(rpc("hang")),
      signal: leaving.signal,
    }).catch(() => {});
    await waitFor(() => log.hanging === 1);
    leaving.abort();
    await left;
    await waitFor(() => log.aborted.length === 2);
    expect(log.aborted).toEqual([expect.stringContaining("within 0.02 s"), "the client disconnected"]);
  });

  test("of a client that leaves ends: the session continues although the handler does not return", async () => {
    speedUpTimers(20);
    let called = 0;
    const tools = defineTools({ deaf: { description: "Never ends." }, quick: { description: "Ends at once." } });
    const environment = defineEnvironment(defineContract({ name: "deaf_env", tools }), () => ({
      reset: () => ({ observation: {} }),
      tools: {
        deaf: () => {
          called++;
          return new Promise(() => {});
        },
        quick: () => "here",
      },
    }));
    const server = await start({}, { environment });
    const created = await post(server.url, { jsonrpc: "2.0", id: 1, method: "openenv/session/create" });
    const { session_id } = created["result"] as { session_id: string };
    const leaving = new AbortController();
    const left = fetch(`${server.url}/mcp`, {
      method: "POST",
      body: JSON.stringify(rpc("deaf", {}, { session_id })),
      signal: leaving.signal,
    }).catch(() => {});
    await waitFor(() => called === 1);
    leaving.abort();
    await left;
    expect(await post(server.url, rpc("quick", {}, { session_id }))).toMatchObject({ result: { data: "here" } });
  });
});

test("the observation of a tool call is published, next to that of the action", async () => {
  const tools = defineTools({ look: { description: "Looks.", input: z.object({ query: z.string() }) } });
  const parts = { name: "a_env", action: z.object({ move: z.string() }), observation: z.object({ seen: z.string() }) };
  const environment = defineEnvironment(defineContract({ ...parts, tools }), () => ({
    reset: () => ({ observation: { seen: "" } }),
    step: ({ move }) => ({ observation: { seen: move } }),
    tools: { look: ({ query }) => query },
  }));
  const server = await start({}, { environment } as never);
  const schema = (await (await fetch(`${server.url}/schema`)).json()) as Record<string, Record<string, unknown>>;
  expect(schema["tool_observation"]).toMatchObject({
    title: "CallToolObservation",
    properties: { done: {}, reward: {}, metadata: {}, tool_name: {}, result: {}, error: {}, tools: {} },
  });
  const socket = await open(server);
  await socket.ask(RESET);
  const fits = new Ajv2020({ strict: false }).compile(schema["tool_observation"] as object);
  for (const step of [call("look", { query: "a" }), call("look"), call("nothing"), LIST]) {
    const { data } = (await socket.ask(step)) as { data: { observation: object } };
    expect([fits(data.observation), fits.errors]).toEqual([true, null]);
  }
  expect(defineDesk().environment.contract.schemas()).not.toHaveProperty("tool_observation");
});

test("the error of a rule about several arguments has no empty path", async () => {
  const input = z
    .object({ preview: z.boolean().default(false), query: z.string().optional() })
    .refine(({ preview, query }) => !preview || query !== undefined, "preview needs query");
  const contract = defineContract({ name: "a_env", tools: defineTools({ look: { description: "Looks.", input } }) });
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: {} }),
    tools: { look: () => null },
  }));
  await using env = await connect(environment);
  await env.reset();
  await expect(env.tools.look({ preview: true })).rejects.toThrow(
    'The tool "look" was called with wrong arguments: preview needs query.',
  );
});
