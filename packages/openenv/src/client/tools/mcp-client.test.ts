import { describe, expect, expectTypeOf, test } from "vitest";
import { useMcp } from "../../../../../test-support/environments/mcp.js";
import { DESK_TOOLS, defineDesk } from "../../../../../test-support/environments/tool-environment.js";
import { connectTools, ToolCallError } from "../index.js";

const { start } = useMcp();
const { contract } = defineDesk().environment;

describe.each(["simulation", "production"] as const)("a client of tools in %s", (mode) => {
  test("lists the tools and calls them, also with an argument called name", async () => {
    const { server } = await start();
    await using client = await connectTools(server.url, { mode });
    await client.reset();
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(DESK_TOOLS);
    expect(tools[0]).toMatchObject({ description: "Adds.", inputSchema: { type: "object", required: ["a"] } });
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ data: 3, text: "3", done: false });
    expect(await client.callTool("greet", { name: "Bo" })).toMatchObject({
      data: { greeting: "Hello, Bo!" },
      text: '{"greeting":"Hello, Bo!"}',
    });
  });

  test("throws typed errors and stays usable", async () => {
    const { server } = await start();
    await using client = await connectTools(server.url, contract, { mode });
    await client.reset({ tally: 7 });
    const given = { fail: { why: "no luck" }, add: { a: "x" }, late: {}, nope: {} };
    const types: unknown[] = [];
    for (const [name, input] of Object.entries(given)) {
      const error = await client.callTool(name, input).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ToolCallError);
      types.push([(error as ToolCallError).errorType, (error as ToolCallError).toolName === name]);
    }
    const kinds = ["execution_error", "invalid_args", "timeout", "tool_not_found"];
    expect(types).toEqual(kinds.map((kind) => [kind, true]));
    expect(await client.callTool("tally")).toMatchObject({ data: 8 });
  });

  test("never reports a failure as an empty list", async () => {
    const { server } = await start({}, { bare: true });
    await using client = await connectTools(server.url, { mode, check: false });
    await expect(client.listTools()).rejects.toMatchObject({ name: "RemoteError" });
    await expect(client.callTool("add", { a: 1 })).rejects.toMatchObject({
      name: mode === "simulation" ? "RemoteError" : "ToolCallError",
    });
  });

  test("is rejected at capacity with the counts, and leaves no session open", async () => {
    const { server, log, active } = await start({ maxConcurrentEnvs: 1 });
    const client = await connectTools(server.url, { mode });
    await client.reset();
    const refused = connectTools(server.url, { mode }).then((other) => other.reset().finally(() => other.close()));
    await expect(refused).rejects.toMatchObject({ wireCode: "CAPACITY_REACHED", details: { max_sessions: 1 } });
    await client.close();
    await client.close();
    await expect.poll(() => [active(), log.closed]).toEqual([0, 1]);
    await expect(client.reset()).rejects.toMatchObject({ code: "CLIENT_CLOSED" });
  });

  test("continues with a reset after the server has lost its session", async () => {
    const { server } = await start();
    await using client = await connectTools(server.url, { mode });
    await client.reset();
    await client.callTool("tally");
    const late = client.state({ signal: AbortSignal.abort() });
    await expect(late).rejects.toMatchObject({ code: "ABORTED" });
    expect((await client.reset()).done).toBe(false);
    expect(await client.callTool("tally")).toMatchObject({ data: 1 });
  });
});

test("in simulation a call is a step, with a reward and done", async () => {
  const { server } = await start();
  await using client = await connectTools(server.url, contract);
  const { observation } = await client.reset();
  expectTypeOf(observation.ready).toEqualTypeOf<boolean>();
  expect(await client.callTool("tally")).toMatchObject({ data: 1, reward: 0.5, done: false });
  expect(await client.callTool("tally")).toMatchObject({ data: 2, reward: 0.5, done: true });
  expect(await client.state()).toMatchObject({ step_count: 2 });
  const error = await client.callTool("fail", { why: "x" }).catch((thrown: ToolCallError) => thrown);
  expect(error).toMatchObject({ reward: null, done: false });
  await expect(connectTools("http://127.0.0.1:9")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
});

test("in production calls are not steps, and use the same session as steps", async () => {
  const { server } = await start({ mode: "production" });
  await using client = await connectTools(server.url, contract, { mode: "production" });
  expect(await client.callTool("tally")).toMatchObject({ data: 1, reward: null, done: false });
  await client.reset({ tally: 40 });
  expect(await client.callTool("tally")).toMatchObject({ data: 41 });
  expect(await client.state()).toMatchObject({ step_count: 0 });
});

test("in production an agent keeps its tools when only the orchestrator may reset", async () => {
  const { server } = await start({ mode: "production", orchestratorToken: "secret" });
  await using agent = await connectTools(server.url, { mode: "production" });
  await expect(agent.reset()).rejects.toMatchObject({ code: "FORBIDDEN" });
  expect(await agent.callTool("add", { a: 1 })).toMatchObject({ data: 2 });
  await using orchestrator = await connectTools(server.url, { mode: "production", token: "secret" });
  expect((await orchestrator.reset()).done).toBe(false);
});

test("a timeout or a signal cancels a call, and the session continues over /mcp", async () => {
  const { server, log } = await start();
  await using client = await connectTools(server.url, { mode: "production" });
  const late = client.callTool("hang", {}, { timeoutMs: 3_000 }).catch((error: unknown) => error);
  await expect.poll(() => log.hanging).toBe(1);
  expect(await late).toMatchObject({ code: "CLIENT_TIMEOUT" });
  await expect.poll(() => log.aborted).toHaveLength(1);
  const controller = new AbortController();
  const call = client.callTool("hang", {}, { signal: controller.signal }).catch((error: unknown) => error);
  await expect.poll(() => log.hanging).toBe(1);
  controller.abort();
  expect(await call).toMatchObject({ code: "ABORTED" });
  expect(await client.callTool("add", { a: 1 })).toMatchObject({ data: 2 });
});
