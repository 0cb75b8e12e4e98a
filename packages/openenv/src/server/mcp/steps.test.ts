import { describe, expect, test } from "vitest";
import { rpc, useMcp } from "../../../../../test-support/environments/mcp.js";
import { connect, connectTools } from "../../client/index.js";
import type { RunningServer } from "../types.js";

const { start, open } = useMcp();
type Opened = Awaited<ReturnType<typeof open>>;

const call = ({ client }: Opened, name: string, given = {}) => client.callTool({ name, arguments: given });
const ask = async ({ url }: RunningServer, method: string, params: object, headers: Record<string, string> = {}) => {
  const body = JSON.stringify({ ...rpc, method: `openenv/session/${method}`, params });
  return (await fetch(`${url}/mcp`, { method: "POST", headers, body })).json() as Promise<Record<string, unknown>>;
};

describe("an agent in a session whose creator has made its tool calls steps", () => {
  test("earns rewards that the creator reads, until the episode ends", async () => {
    const { server } = await start();
    await using env = await connect(server.url);
    await env.reset();
    const access = await env.openToAgent();
    expect(access.url).toBe(`${server.url}/mcp`);
    const agent = await open(server, { headers: { ...access.headers } });
    expect(await call(agent, "add", { a: 1, b: 2 })).toMatchObject({ structuredContent: { result: 3 } });
    expect(await call(agent, "tally")).toMatchObject({ structuredContent: { result: 1 } });
    expect(await access.episode()).toMatchObject({ step_count: 2, reward: 0.5, done: false, failed_steps: 0 });
    expect(await call(agent, "add", { a: "x" })).toMatchObject({ isError: true });
    expect(await call(agent, "tally")).toMatchObject({ structuredContent: { result: 2 } });
    expect(await call(agent, "tally")).toMatchObject({
      isError: true,
      content: [{ text: "the episode has ended: call reset to begin another" }],
      _meta: { "openenv/error_type": "episode_finished" },
    });
    await expect(call(agent, "nope")).rejects.toMatchObject({ code: -32602 });
    expect(await access.episode()).toMatchObject({ step_count: 3, reward: 1, done: true, failed_steps: 0 });
    await env.reset();
    expect(await access.episode()).toMatchObject({ step_count: 0, reward: 0, done: false });
    expect(await call(agent, "tally")).toMatchObject({ structuredContent: { result: 1 } });
    expect(await env.state()).toMatchObject({ step_count: 1 });
  });

  test("gets no result of a step that failed through no fault of its own, and the creator knows", async () => {
    const { server } = await start();
    await using env = await connect(server.url);
    const access = await env.openToAgent();
    const agent = await open(server, { headers: { ...access.headers } });
    await expect(call(agent, "add", { a: 1 })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining("call reset first"),
    });
    await env.reset();
    await expect(call(agent, "fail", { why: "a bug" })).rejects.toMatchObject({ code: -32603 });
    await call(agent, "tally");
    expect(await access.episode()).toMatchObject({ reward: 0.5, failed_steps: 1 });
  });

  test("acts in an environment without tools by one tool for its action", async () => {
    const { server } = await start({}, { bare: true });
    await using env = await connect(server.url);
    const access = await env.openToAgent();
    await env.reset();
    const agent = await open(server, { headers: { ...access.headers } });
    const { tools } = await agent.client.listTools();
    expect(tools).toMatchObject([{ name: "step", inputSchema: { required: ["amount"] } }]);
    expect(await call(agent, "step", { amount: 4 })).toMatchObject({
      content: [{ type: "text", text: '{"count":4}' }],
      structuredContent: { count: 4 },
    });
    expect(await call(agent, "step", { amount: "many" })).toMatchObject({ isError: true });
    await expect(call(agent, "step", { amount: 13 })).rejects.toMatchObject({ code: -32603 });
    expect(await call(agent, "step", { amount: 6 })).toMatchObject({ structuredContent: { count: 10 } });
    expect(await access.episode()).toMatchObject({ step_count: 2, reward: 10, done: true, failed_steps: 1 });
    await expect(open(server)).rejects.toThrow("declares no tools");
  });

  test("is let in by HTTP alone, also in a session that POST /mcp creates", async () => {
    const { server } = await start();
    const { result } = await ask(server, "create", { tool_calls_are_steps: true });
    expect(result).toMatchObject({ tool_calls_are_steps: true });
    const { session_id } = result as { session_id: string };
    const headers = { "openenv-session": session_id, "content-type": "application/json" };
    await fetch(`${server.url}/reset`, { method: "POST", headers, body: "{}" });
    const agent = await open(server, { headers: { "openenv-session": session_id } });
    await call(agent, "tally");
    const given = { session_id, name: "tally", arguments: {} };
    const plain = await fetch(`${server.url}/mcp`, {
      method: "POST",
      body: JSON.stringify({ ...rpc, method: "tools/call", params: given }),
    });
    expect(await plain.json()).toMatchObject({ result: { data: 2 } });
    const again = await fetch(`${server.url}/mcp`, {
      method: "POST",
      body: JSON.stringify({ ...rpc, method: "tools/call", params: given }),
    });
    expect(await again.json()).toMatchObject({ error: { code: -32603, data: { error_type: "episode_finished" } } });
    expect(await ask(server, "episode", { session_id })).toMatchObject({
      result: { step_count: 2, reward: 1, done: true },
    });
    expect(await ask(server, "episode", {})).toMatchObject({ error: { code: -32602 } });
    expect(await ask(server, "create", { tool_calls_are_steps: 1 })).toMatchObject({ error: { code: -32602 } });
  });

  test("takes no step by default", async () => {
    const { server } = await start();
    await using env = await connectTools(server.url, { mode: "production" });
    await env.reset();
    expect(await env.callTool("tally")).toMatchObject({ data: 1, reward: null });
    expect(await env.state()).toMatchObject({ step_count: 0 });
  });
});

describe("on a server with an orchestrator's token", () => {
  const token = "secret";
  const guarded = { mode: "production", orchestratorToken: token } as const;

  test("the orchestrator lets an agent take steps, and reads the reward", async () => {
    const { server } = await start(guarded);
    await using env = await connect(server.url, { token });
    await env.reset();
    const access = await env.openToAgent();
    const agent = await open(server, { headers: { ...access.headers } });
    await call(agent, "tally");
    expect(await access.episode()).toMatchObject({ step_count: 1, reward: 0.5 });
  });

  test("no other client makes its calls steps, or reads the episode", async () => {
    const { server } = await start(guarded);
    await using agent = await connect(server.url);
    await expect(agent.openToAgent()).rejects.toMatchObject({ wireCode: "FORBIDDEN" });
    const refused = { error: { code: -32000, data: { code: "FORBIDDEN" } } };
    expect(await ask(server, "create", { tool_calls_are_steps: true })).toMatchObject(refused);
    const { result } = await ask(server, "create", {}, { authorization: `Bearer ${token}` });
    expect(await ask(server, "episode", result as object)).toMatchObject(refused);
  });
});
