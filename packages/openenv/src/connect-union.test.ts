/** An environment whose action is a union, through the clients of this package. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { createAgentEpisode } from "./agents/index.js";
import { connectVector } from "./client/index.js";
import { connect } from "./connect.js";
import { defineContract, defineEnvironment, type RemoteError } from "./index.js";
import { serve } from "./serve.js";
import type { RunningServer } from "./server/types.js";
import { checkEnvironment, renderCheckReport } from "./testing/index.js";

const contract = defineContract({
  name: "sql_env",
  action: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("query"), sql: z.string() }).describe("Runs SQL."),
    z.object({ kind: z.literal("answer"), value: z.int() }),
  ]),
  observation: z.object({ text: z.string(), steps: z.int() }),
});
const environment = defineEnvironment(contract, () => {
  let steps = 0;
  return {
    reset() {
      steps = 0;
      return { observation: { text: "", steps } };
    },
    step(action) {
      steps++;
      return action.kind === "query"
        ? { observation: { text: action.sql, steps }, reward: 0 }
        : { observation: { text: "", steps }, reward: action.value, done: true };
    },
    snapshot: () => steps,
    restore(saved: number) {
      steps = saved;
    },
  };
});

const query = { kind: "query", sql: "select 1" } as const;
const answer = { kind: "answer", value: 4 } as const;

async function errorOf(step: Promise<unknown>): Promise<RemoteError> {
  return step.then(
    () => expect.fail("the step was taken"),
    (error: unknown) => error as RemoteError,
  );
}

describe("an action that is a union", () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await serve(environment, { port: 0, logLevel: "silent" });
  });
  afterAll(() => server.close());

  test.each(["in process", "over a socket"])("is a typed step %s, and an invalid one is not sent", async (where) => {
    await using env = await (where === "in process" ? connect(environment) : connect(server.url, contract));
    await env.reset();
    expect((await env.step(query)).observation).toEqual({ text: "select 1", steps: 1 });
    const error = await errorOf(env.step({ kind: "query", sql: 5 as never }));
    expect(error).toMatchObject({ wireCode: "VALIDATION_ERROR" });
    expect(error.message).toContain("sql");
    expect(await env.step(answer)).toMatchObject({ reward: 4, done: true, observation: { steps: 2 } });
  });

  test("is checked by a client without a contract, with the paths of the server", async () => {
    await using env = await connect(server.url);
    await env.reset();
    const found = async (action: object) =>
      ((await errorOf(env.step({ ...action }))).details["errors"] as { loc: unknown }[]).map(({ loc }) => loc);
    expect(await found({ kind: "query" })).toEqual([["query", "sql"]]);
    expect(await found({ kind: "answer", value: "x", more: 1 })).toEqual([
      ["answer", "more"],
      ["answer", "value"],
    ]);
    expect((await errorOf(env.step({ kind: "nope" }))).message).toContain("'query', 'answer'");
    expect((await errorOf(env.step({}))).message).toContain("'kind'");
    expect((await env.step({ ...answer })).reward).toBe(4);
  });

  test("that is plain has the errors of each variant", async () => {
    const action = z.union([z.object({ text: z.string() }), z.object({ path: z.array(z.int()), speed: z.number() })]);
    const plain = defineContract({ name: "plain_env", action, observation: z.object({}) });
    const made = () => ({ reset: () => ({ observation: {} }), step: () => ({ observation: {} }) });
    await using env = await connect(defineEnvironment(plain, made));
    await env.reset();
    const error = await errorOf(env.step({ path: [1, "x" as never], speed: 1 }));
    expect(error.details["errors"]).toMatchObject([{ loc: ["text"] }, { loc: ["path", 1], input: "x" }]);
  });

  test("is a step of a vector client", async () => {
    await using envs = await connectVector(server.url, contract, { size: 2 });
    await envs.reset();
    const results = await envs.step([query, answer]);
    expect(results.map((result) => result?.reward)).toEqual([0, 4]);
  });

  test("is a tool for each variant for an agent", async () => {
    await using env = await connect(server.url);
    await env.reset();
    const episode = await createAgentEpisode(env);
    expect(episode.tools.map(({ name }) => name)).toEqual(["query", "answer"]);
    expect(await episode.call("query", { sql: "select 2" })).toContain("select 2");
    expect(await episode.call("query", {})).toContain("sql");
    await episode.call("answer", { value: 3 });
    expect(episode).toMatchObject({ reward: 3, done: true });
    expect(episode.calls.map((call) => call.error === null)).toEqual([true, false, true]);
  });

  test("is copied with its session", async () => {
    await using env = await connect(server.url, contract, { resume: true });
    await env.reset();
    await env.step(query);
    const [copy] = await env.fork(1);
    await using fork = copy as NonNullable<typeof copy>;
    expect((await fork.step(query)).observation.steps).toBe(2);
  });

  test("passes the checks of environments, which sample its variants", async () => {
    const report = await checkEnvironment(environment);
    expect(report.passed, renderCheckReport(report)).toBe(true);
  });

  test("is in the OpenAPI document, with its definitions", async () => {
    const { components } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      components: { schemas: Record<string, { properties: Record<string, object> }> };
    };
    expect(components.schemas["StepRequest"]?.properties["action"]).toEqual({
      $id: "urn:openenv:SqlAction",
      ...contract.schemas().action,
    });
  });
});
