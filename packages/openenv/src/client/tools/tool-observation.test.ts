/** An environment whose observation has fields with the names of those that a call of a tool shows. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { datetime, defineContract, defineEnvironment, defineTools } from "../../index.js";
import { serve } from "../../serve.js";
import { connect, connectVector } from "../index.js";

const when = new Date("2026-01-02T03:04:05Z");
const tools = defineTools({ oil: { description: "Oils.", output: z.object({ oiled: z.boolean() }) } });
const observation = z.object({ tools: z.array(z.string()), tool_name: datetime(), result: z.int().default(7) });
const contract = defineContract({ name: "shed_env", action: z.object({ take: z.string() }), observation, tools });
const shown = { tools: ["saw"], tool_name: when };
const seen = { ...shown, result: 7 };
const handlers = { oil: () => ({ oiled: true }) };
const environment = defineEnvironment(contract, () => ({
  reset: () => ({ observation: shown }),
  step: () => ({ observation: shown }),
  tools: handlers,
}));
const start = () => serve(environment, { port: 0, logLevel: "silent" });

describe("an observation with the fields tools and tool_name", () => {
  test.each(["a server", "the environment"])("is that of the contract for a client of %s", async (where) => {
    await using server = await start();
    await using env = await (where === "a server" ? connect(server.url, contract) : connect(environment));
    expect((await env.reset()).observation).toEqual(seen);
    expect((await env.step({ take: "saw" })).observation).toEqual(seen);
    const called = await env.step({ type: "call_tool", tool_name: "oil" } as never);
    expect(called.observation).toMatchObject({ tool_name: "oil", result: { data: { oiled: true } } });
    expect((await env.tools.oil()).data).toEqual({ oiled: true });
  });

  test("is that of the contract for a vector environment", async () => {
    await using server = await start();
    await using envs = await connectVector(server.url, contract, { size: 2 });
    expect((await envs.reset()).map((result) => result?.observation)).toEqual([seen, seen]);
    const [own, listed] = await envs.step([{ take: "saw" }, { type: "list_tools" } as never]);
    expect(own?.observation).toEqual(seen);
    expect(listed?.observation?.tools).toMatchObject([{ name: "oil" }]);
  });

  test("is that of reset, without an action in the contract", async () => {
    const own = z.object({ tool_name: z.string() });
    const toolsOnly = defineContract({ name: "rack_env", observation: own, tools });
    const rack = defineEnvironment(toolsOnly, () => ({
      reset: () => ({ observation: { tool_name: "none" } }),
      tools: handlers,
    }));
    await using server = await serve(rack, { port: 0, logLevel: "silent" });
    await using env = await connect(server.url, toolsOnly);
    expect((await env.reset()).observation).toEqual({ tool_name: "none" });
    const { observation: called } = await env.step({ tool_name: "oil" });
    expect(called).toMatchObject({ tool_name: "oil", result: { data: { oiled: true } } });
  });
});
