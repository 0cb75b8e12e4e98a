import { join } from "node:path";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, test, vi } from "vitest";
import { useMcp } from "../../../../test-support/environments/mcp.js";
import { DESK_TOOLS } from "../../../../test-support/environments/tool-environment.js";
import { connectTools } from "../client/index.js";
import { connect } from "../connect.js";
import { defineContract, defineEnvironment, type EnvironmentDefinition } from "../index.js";
import { serve } from "../serve.js";
import { toMcpServer, toolsFromMcp } from "./index.js";
import type { McpSource } from "./remote-client.js";

// Starting a process takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 120_000 });

const { start } = useMcp();
const BIN = join(import.meta.dirname, "../../../cli/bin/openenv.js");

/** An MCP server on standard input and output that lists one tool for each page. */
const PAGED = `
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
serveStdio(() => {
  const server = new Server({ name: "paged", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", async ({ params }) => {
    const page = Number(params?.cursor ?? 0);
    const tools = [{ name: "tool_" + page, inputSchema: { type: "object" } }];
    return page < Number(process.env.LAST) ? { tools, nextCursor: String(page + 1) } : { tools };
  });
  return server;
});`;

async function agentOf(client: Parameters<typeof toMcpServer>[0]) {
  const server = await toMcpServer(client);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(ours);
  const agent = new Client({ name: "agent", version: "1" });
  await agent.connect(theirs);
  return agent;
}

describe("a client's tools for an agent that speaks MCP", () => {
  test("are listed and called, in production outside the episode", async () => {
    const { server } = await start();
    await using client = await connectTools(server.url, { mode: "production" });
    const agent = await agentOf(client);
    expect(agent.getServerVersion()).toEqual({ name: "desk_env", version: "1.0.0" });
    const { tools } = await agent.listTools();
    expect(tools[1]).toMatchObject({ name: "greet", description: "Greets.", inputSchema: { required: ["name"] } });
    expect(await agent.callTool({ name: "greet", arguments: { name: "Bo" } })).toMatchObject({
      content: [{ type: "text", text: '{"greeting":"Hello, Bo!"}' }],
      structuredContent: { greeting: "Hello, Bo!" },
    });
    expect(await agent.callTool({ name: "fail", arguments: { why: "x" } })).toMatchObject({
      isError: true,
      _meta: { "openenv/error_type": "execution_error" },
    });
    await expect(agent.callTool({ name: "nope" })).rejects.toMatchObject({ code: -32602 });
    expect((await client.state()).step_count).toBe(0);
  });

  test("are steps in simulation, whose results contain the reward", async () => {
    const { server } = await start();
    await using client = await connectTools(server.url);
    await client.reset();
    const agent = await agentOf(client);
    await agent.callTool({ name: "tally" });
    expect(await agent.callTool({ name: "tally" })).toMatchObject({
      structuredContent: { result: 2 },
      _meta: { "openenv/reward": 0.5, "openenv/done": true },
    });
    expect((await client.state()).step_count).toBe(2);
  });

  test("are served on the standard streams of `openenv mcp`, whose session ends with them", async () => {
    const { server, active, log } = await start();
    const args = [BIN, "mcp", server.url, "--reset"];
    const transport = new StdioClientTransport({ command: process.execPath, args, stderr: "pipe" });
    const agent = new Client({ name: "agent", version: "1" });
    await agent.connect(transport);
    expect((await agent.listTools()).tools.map(({ name }) => name)).toEqual(DESK_TOOLS);
    await agent.callTool({ name: "tally" });
    expect(await agent.callTool({ name: "tally" })).toMatchObject({ structuredContent: { result: 2 } });
    expect(active()).toBe(1);
    await agent.close();
    await expect.poll(() => [active(), log.created - log.closed], { timeout: 10_000 }).toEqual([0, 0]);
  });
});

/** An environment whose tools are those of an MCP server. */
async function borrow(source: McpSource): Promise<EnvironmentDefinition> {
  const { tools, open } = await toolsFromMcp(source, { only: ["add", "tally", "fail", "greet"], prefix: "desk_" });
  return defineEnvironment(defineContract({ name: "borrower_env", tools }), () => {
    const { handlers, close } = open();
    return { reset: () => ({ observation: {} }), tools: handlers, close };
  });
}

describe("the tools of an MCP server in an environment", () => {
  test("are called with the same checks and errors as its own tools", async () => {
    const { server, log, active } = await start();
    const environment = await borrow({ url: `${server.url}/mcp` });
    expect([active(), log.created - log.closed]).toEqual([0, 0]);
    await using borrower = await serve(environment, { port: 0, logLevel: "silent" });
    await using client = await connectTools(borrower.url);
    await client.reset();
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["desk_add", "desk_greet", "desk_tally", "desk_fail"]);
    expect(tools[0]?.inputSchema).toMatchObject({ properties: { a: { type: "integer" } }, required: ["a"] });
    expect(await client.callTool("desk_add", { a: 2 })).toMatchObject({ data: 3 });
    expect(await client.callTool("desk_greet", { name: "Bo" })).toMatchObject({ data: { greeting: "Hello, Bo!" } });
    const failures = { desk_fail: { why: "no luck" }, desk_add: { a: "x" } };
    const types: unknown[] = [];
    for (const [name, given] of Object.entries(failures)) {
      await client.callTool(name, given).catch((error) => types.push(error.errorType));
    }
    expect(types).toEqual(["execution_error", "invalid_args"]);
  });

  test("open a remote session for each session of the environment, and close it with it", async () => {
    const { server, active } = await start();
    const environment = await borrow({ url: `${server.url}/mcp` });
    await using one = await connect(environment);
    await using two = await connect(environment);
    const tally = async (env: typeof one) => {
      const { observation } = await env.step({ type: "call_tool", tool_name: "desk_tally", arguments: {} });
      return (observation["result"] as { data: number }).data;
    };
    await one.reset();
    await two.reset();
    expect([await tally(one), await tally(one), await tally(two)]).toEqual([1, 2, 1]);
    expect(active()).toBe(2);
    await one.close();
    await expect.poll(active).toBe(1);
    await server.close();
    const failed = await two.step({ type: "call_tool", tool_name: "desk_tally", arguments: {} });
    expect(failed).toMatchObject({ observation: { error: { error_type: "transport_error" } }, reward: null });
  });

  test("can be those of a command", async () => {
    const { server } = await start();
    const source = { command: process.execPath, args: [BIN, "mcp", server.url] };
    await using env = await connect(await borrow(source));
    await env.reset();
    const { observation } = await env.step({ type: "call_tool", tool_name: "desk_add", arguments: { a: 1 } });
    expect(observation).toMatchObject({ result: { data: 2 } });
  });

  test("can be listed in pages, but not in endless pages", async () => {
    const paged = (last: number): McpSource => ({
      command: process.execPath,
      args: ["--input-type=module", "-e", PAGED],
      cwd: import.meta.dirname,
      env: { LAST: String(last) },
    });
    expect(Object.keys((await toolsFromMcp(paged(3))).tools)).toEqual(["tool_0", "tool_1", "tool_2", "tool_3"]);
    await expect(toolsFromMcp(paged(1e9))).rejects.toMatchObject({ errorType: "transport_error" });
  });

  test("fail with an error that says why when there is no such server or tool", async () => {
    const { server } = await start();
    const url = `${server.url}/mcp`;
    await expect(toolsFromMcp({ url: "http://127.0.0.1:9/mcp" })).rejects.toMatchObject({
      errorType: "transport_error",
    });
    await expect(toolsFromMcp({ url }, { only: ["nope"] })).rejects.toMatchObject({ errorType: "tool_not_found" });
    await expect(toolsFromMcp({ url }, { prefix: "a b" })).rejects.toMatchObject({ code: "INVALID_TOOL" });
  });
});
