/** One environment with an action and tools, used through every kind of client. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { connect } from "../../connect.js";
import { connectTools } from "../../connect-tools.js";
import { defineContract } from "../../contract/contract.js";
import { bytes, datetime } from "../../contract/fields.js";
import { defineTools } from "../../contract/tools/tools.js";
import { defineEnvironment } from "../../environment/define-environment.js";
import { serve } from "../../serve.js";
import { contractFromSchemas } from "../contract/schema-contract.js";
import type { EnvClient } from "../env-client.js";
import type { ConnectToolsOptions } from "./mcp-client.js";
import { ToolCallError } from "./mcp-result.js";

const contract = defineContract({
  name: "booth_env",
  action: z.object({ move: z.enum(["left", "right"]) }),
  observation: z.object({ at: z.int() }),
  tools: defineTools({
    guess: {
      description: "Guesses the word.",
      input: z.object({ word: z.string(), tries: z.int().default(1) }),
      output: z.object({ right: z.boolean(), tries: z.int() }),
    },
    seal: {
      description: "Seals a letter.",
      input: z.object({ letter: bytes(), when: datetime() }),
      output: z.object({ letter: bytes(), when: datetime() }),
    },
    peek: { description: "Looks." },
    constructor: { description: "Has the name of a property of every object.", output: z.string() },
    broken: { description: "Fails." },
  }),
});
const environment = defineEnvironment(contract, () => {
  let at = 0;
  return {
    reset: () => ({ observation: { at: (at = 0) } }),
    step: ({ move }) => ({ observation: { at: (at += move === "left" ? -1 : 1) }, reward: 1 }),
    afterTool: ({ name, result }) =>
      name === "guess" && (result as { right: boolean } | undefined)?.right ? { reward: 2, done: true } : {},
    tools: {
      guess: ({ word, tries }) => ({ right: word === "crane", tries }),
      seal: (given) => given,
      peek: () => at,
      constructor: () => "built",
      broken: () => {
        throw new Error("no luck");
      },
    },
  };
});

type Client = EnvClient<typeof contract>;
type Use = (play: (env: Client) => Promise<void>) => Promise<void>;

const served =
  (open: (url: string) => Promise<Client>): Use =>
  async (play) => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    await using env = await open(server.url);
    await play(env);
  };
const inProcess =
  (open: () => Promise<Client>): Use =>
  async (play) => {
    await using env = await open();
    await play(env);
  };

describe.each<[string, Use]>([
  ["a server", served((url) => connect(url, contract))],
  ["a server, with MessagePack", served((url) => connect(url, contract, { binary: true }))],
  ["a server, with tools by name", served((url) => connectTools(url, contract))],
  ["the environment itself", inProcess(() => connect(environment))],
  ["the environment itself, with tools by name", inProcess(() => connectTools(environment))],
])("a client of %s", (_, use) => {
  test("has the tools of the contract as methods, next to the action", () =>
    use(async (env) => {
      await env.reset();
      expect(Object.keys(env.tools)).toEqual(Object.keys(contract.tools));
      expect((await env.step({ move: "right" })).observation).toEqual({ at: 1 });
      expect(await env.tools.peek()).toMatchObject({ data: 1, text: "1", reward: 0, done: false });
      expect((await env.tools.constructor()).data).toBe("built");
      const { data, reward, done } = await env.tools.guess({ word: "crane" });
      expect([data, reward, done]).toEqual([{ right: true, tries: 1 }, 2, true]);
      expect(await env.state()).toMatchObject({ step_count: 4 });
    }));

  test("returns values as the contract declares them", () =>
    use(async (env) => {
      await env.reset();
      const sent = { letter: Uint8Array.from([0, 255]), when: new Date("2026-01-02T03:04:05Z") };
      const { data } = await env.tools.seal(sent);
      expect([...data.letter]).toEqual([0, 255]);
      expect(data.when).toEqual(sent.when);
    }));

  test("throws the failures of tools, and sends invalid arguments to the server, where they are a step", () =>
    use(async (env) => {
      await env.reset();
      const wrong: unknown = await env.tools.guess({ word: 1 } as never).catch((error: unknown) => error);
      expect(wrong).toBeInstanceOf(ToolCallError);
      expect(wrong).toMatchObject({ errorType: "invalid_args", toolName: "guess", reward: 0, done: false });
      await expect(env.tools.broken()).rejects.toMatchObject({ errorType: "execution_error", reward: null });
      expect(await env.state()).toMatchObject({ step_count: 2 });
    }));

  test("reports the missing type of a tool call next to the issues of the action", () =>
    use(async (env) => {
      await env.reset();
      const untyped = env as unknown as EnvClient;
      const refused = await untyped.step({ tool_name: "peek", arguments: {} }).catch((error: unknown) => error);
      expect(refused).toMatchObject({
        code: "VALIDATION_ERROR",
        message: expect.stringContaining('"type": "call_tool"'),
        errors: [{ type: "missing", loc: ["type"] }, { loc: ["move"] }],
      });
      await expect(untyped.step({ move: "up" })).rejects.not.toMatchObject({
        message: expect.stringContaining("call_tool"),
      });
    }));
});

describe.each<ConnectToolsOptions["mode"]>(["simulation", "production"])("tools by name in process, in %s", (mode) => {
  test("are listed and called", async () => {
    await using client = await connectTools(environment, { mode });
    await client.reset();
    expect((await client.listTools()).map(({ name }) => name)).toEqual(Object.keys(contract.tools));
    expect((await client.callTool("guess", { word: "crane" })).data).toEqual({ right: true, tries: 1 });
    expect((await client.tools.guess({ word: "other" })).data.right).toBe(false);
    await expect(client.callTool("nope")).rejects.toMatchObject({
      errorType: mode === "simulation" ? "tool_not_found" : expect.any(String),
    });
    expect(await client.state()).toMatchObject({ step_count: mode === "simulation" ? 4 : 0 });
  });
});

test("a client without a contract has the tools that the server publishes", async () => {
  await using server = await serve(environment, { port: 0, logLevel: "silent" });
  await using env = await connect(server.url);
  await env.reset();
  expect(Object.keys(env.tools)).toEqual(Object.keys(contract.tools));
  expect((await env.tools["guess"]?.({ word: "crane" }))?.data).toEqual({ right: true, tries: 1 });
});

test("a generated client has the tools of its schemas", async () => {
  await using server = await serve(environment, { port: 0, logLevel: "silent" });
  const generated = contractFromSchemas<{
    action: { move: string };
    observation: { at: number };
    state: object;
    tools: { guess: { input: { word: string }; output: { right: boolean } } };
  }>("booth_env", contract.schemas());
  await using env = await connect(server.url, generated);
  await env.reset();
  expect((await env.tools.guess({ word: "crane" })).data.right).toBe(true);
});

test("a server names the missing type of a call first, because stock clients show only the first issue", async () => {
  await using server = await serve(environment, { port: 0, logLevel: "silent" });
  await using env = await connect(server.url, { check: false });
  await env.reset();
  await expect(env.step({ tool_name: "peek" })).rejects.toMatchObject({
    message: expect.stringMatching(/^Invalid message: type: Field required: .*"call_tool"/),
  });
});
