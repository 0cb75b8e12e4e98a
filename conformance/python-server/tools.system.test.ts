/** Our client of tools against the released Python server. */
import { connectTools, type ToolCallError } from "openenv-ts/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requirePython } from "../../test-support/requirement.js";
import { type PythonServer, startPythonServer } from "./start-server.js";

const python = await requirePython();

describe.skipIf(!python.available)("the client of tools against the released Python server", () => {
  let server: PythonServer;
  beforeAll(async () => {
    server = await startPythonServer(python.path, 2, "tools_server.py");
  }, 180_000);
  afterAll(() => server?.[Symbol.asyncDispose]());

  test.each(["simulation", "production"] as const)("lists tools and calls them in %s", async (mode) => {
    await using client = await connectTools(server.url, { mode });
    await client.reset({ episodeId: "desk" });
    const tools = await client.listTools();
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ["greet", "Greets."],
      ["tally", "Counts its calls."],
      ["fail", "Always fails."],
    ]);
    expect(tools[0]?.inputSchema).toMatchObject({ type: "object", required: ["name"] });
    expect(await client.callTool("greet", { name: "Bo" })).toMatchObject({
      data: { greeting: "Hello, Bo!" },
      text: '{"greeting":"Hello, Bo!"}',
    });
    expect([await client.callTool("tally"), await client.callTool("tally")]).toMatchObject([{ data: 1 }, { data: 2 }]);
    expect(await client.state()).toMatchObject({ episode_id: "desk" });
  });

  test.each(["simulation", "production"] as const)("throws typed errors in %s, and goes on", async (mode) => {
    await using client = await connectTools(server.url, { mode });
    await client.reset();
    const types: string[] = [];
    for (const [name, given] of [
      ["fail", { why: "no luck" }],
      ["nope", {}],
    ] as const) {
      await client.callTool(name, given).catch((error: ToolCallError) => types.push(error.errorType));
    }
    // Over /mcp the reference tells no type.
    expect(types).toEqual(["execution_error", mode === "simulation" ? "tool_not_found" : "execution_error"]);
    expect(await client.callTool("tally")).toMatchObject({ data: 1 });
  });
});
