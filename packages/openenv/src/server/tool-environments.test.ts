import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../test-support/servers/servers.js";
import type { EnvClient } from "../client/env-client.js";
import { connect } from "../connect.js";
import { defineContract, defineEnvironment, defineTools } from "../index.js";
import type { SchemaBody } from "../protocol/http.js";
import { checkEnvironment, renderCheckReport } from "../testing/index.js";

const { start, open } = useServers();

const RESET = { type: "reset" };
const call = (tool_name: string, given: object = {}) => ({
  type: "step",
  data: { type: "call_tool", tool_name, arguments: given },
});

describe("an environment with tools only", () => {
  const tools = defineTools({
    guess: { description: "Guesses.", input: z.object({ letter: z.string().length(1) }), output: z.boolean() },
  });
  const define = (guess: (letter: string) => boolean) =>
    defineEnvironment(
      defineContract({ name: "guess_env", observation: z.object({ hint: z.string() }), tools }),
      () => ({
        reset: () => ({ observation: { hint: "a vowel" } }),
        tools: { guess: ({ letter }) => guess(letter) },
      }),
    );

  test("keeps the promises of every environment: finite rewards, and a reset that fits its schema", async () => {
    const report = await checkEnvironment(define((letter) => letter === "a"));
    expect(report.passed, renderCheckReport(report)).toBe(true);
    expect(report.checks.find(({ id }) => id === "tools_answer")?.status).toBe("passed");
  });

  test("sends at every door what its schemas tell", async () => {
    const environment = define((letter) => letter === "a");
    const server = await start({}, { environment });
    const schemas = (await (await fetch(`${server.url}/schema`)).json()) as Required<SchemaBody>;
    const ajv = new Ajv2020({ strict: false });
    const fits = { any: ajv.compile(schemas.observation), reset: ajv.compile(schemas.reset_observation) };
    const socket = await open(server);
    const ask = async (request: Parameters<typeof socket.ask>[0]) =>
      ((await socket.ask(request)) as { data: { observation: object } }).data.observation;
    const post = async (route: string, body: object, headers = {}) => {
      const given = { method: "POST", headers: { "content-type": "application/json", ...headers } };
      const response = await fetch(server.url + route, { ...given, body: JSON.stringify(body) });
      return { response, observation: ((await response.json()) as { observation: object }).observation };
    };
    const { response, observation } = await post("/reset", {});
    const named = { "openenv-session": response.headers.get("openenv-session") ?? "" };
    await using inProcess = await connect(environment);
    await using remote = await connect(server.url, { binary: true });
    for (const seen of [
      await ask(RESET),
      observation,
      (await inProcess.reset()).observation,
      (await remote.reset()).observation,
    ]) {
      expect(seen).toMatchObject({ hint: "a vowel" });
      expect([fits.any(seen), fits.reset(seen)]).toEqual([true, true]);
    }
    const steps = [{ type: "list_tools" }, ...["a", "bc"].map((letter) => call("guess", { letter }).data)];
    for (const data of [...steps, call("nope").data]) {
      const byHttp = (await post("/step", { action: data }, named)).observation;
      for (const seen of [await ask({ type: "step", data }), byHttp]) {
        expect([data, fits.any(seen), fits.any.errors]).toEqual([data, true, null]);
      }
    }
  });

  test("shows in a reset what it declares, and refuses anything else", async () => {
    await using env = await connect(define(() => true));
    expect((await env.reset()).observation).toMatchObject({ hint: "a vowel" });
    const { observation } = await env.step({ tool_name: "guess", arguments: { letter: "a" } });
    expect(observation).toMatchObject({ tool_name: "guess", result: { data: true }, error: null });
    expect(observation).not.toHaveProperty("hint");
  });

  test("whose factory forgets a handler is told which one", async () => {
    const { contract } = define(() => true);
    const forgetful = defineEnvironment(contract, () => ({ reset: () => ({ observation: {} }), tools: {} as never }));
    await expect(connect(forgetful)).rejects.toMatchObject({
      code: "FACTORY_ERROR",
      message: expect.stringMatching(/tools\.guess\(\)/),
    });
  });
});

describe("tools beside an action", () => {
  const contract = defineContract({
    name: "both_env",
    action: z.object({ amount: z.int() }),
    observation: z.object({ count: z.int() }),
    tools: defineTools({ peek: { description: "Tells the count.", output: z.int() } }),
  });
  const environment = defineEnvironment(contract, () => {
    let count = 0;
    return {
      reset: () => ({ observation: { count } }),
      step: ({ amount }) => ({ observation: { count: (count += amount) }, reward: amount }),
      tools: { peek: () => count },
    };
  });

  test("leave the action and its schema as they are, and both are steps", async () => {
    expect(Object.keys(contract.schemas().action["properties"] as object)).toEqual(["metadata", "amount"]);
    const socket = await open(await start({}, { environment }));
    await socket.ask(RESET);
    expect(await socket.ask({ type: "step", data: { amount: 2 } })).toMatchObject({
      data: { observation: { count: 2 }, reward: 2 },
    });
    expect(await socket.ask(call("peek"))).toMatchObject({ data: { observation: { result: { data: 2 } }, reward: 0 } });
    expect(await socket.ask({ type: "state" })).toMatchObject({ data: { step_count: 2 } });
    expect(await socket.ask({ type: "step", data: { type: "other", amount: 1 } })).toMatchObject({
      data: { code: "VALIDATION_ERROR" },
    });
  });

  test("count as steps, also a list of tools and a call that failed", async () => {
    const socket = await open(await start({}, { environment }));
    await socket.ask(RESET);
    await socket.ask({ type: "step", data: { type: "list_tools" } });
    await socket.ask(call("peek"));
    await socket.ask(call("nothing"));
    expect(await socket.ask({ type: "state" })).toMatchObject({ data: { step_count: 3 } });
  });

  test("are let through by a client that checks the action, with a contract and without", async () => {
    const server = await start({}, { environment });
    for (const env of [await connect(server.url, contract), await connect(server.url)] as EnvClient[]) {
      await using client = env;
      await client.reset();
      const { observation } = await client.step({ type: "call_tool", tool_name: "peek", arguments: {} });
      expect(observation).toMatchObject({ tool_name: "peek", result: { data: 0 } });
      await expect(client.step({ amount: "many" })).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
    }
  });

  test("keep the promises of every environment", async () => {
    const report = await checkEnvironment(environment);
    expect(report.passed, renderCheckReport(report)).toBe(true);
  });
});
