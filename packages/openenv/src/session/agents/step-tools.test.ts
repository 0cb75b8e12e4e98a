import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { DESK_TOOLS, defineDesk } from "../../../../../test-support/environments/tool-environment.js";
import type { EnvironmentDefinition } from "../../environment/environment.js";
import { defineContract, defineEnvironment, image } from "../../index.js";
import { capture, openFrom } from "../copies/open-from.js";
import { Sessions } from "../registry/sessions.js";
import { createRuntime } from "../runtime.js";
import type { Session } from "../session.js";
import { callStepTool, listStepTools, renderContent } from "./step-tools.js";

async function begin(environment: EnvironmentDefinition<never>) {
  const runtime = createRuntime(environment as unknown as EnvironmentDefinition);
  const sessions = new Sessions(runtime, { maxConcurrentEnvs: 4, sessionTimeoutMs: null });
  const session = sessions.open() as Session;
  await session.call({ type: "reset" });
  const call = (name: string, given = {}) => callStepTool(session, { name, given });
  return { runtime, sessions, session, call };
}

const text = (value: string) => [{ type: "text", text: value }];

describe("an environment with tools", () => {
  test("offers them, and its calls are steps that are rewarded and end the episode", async () => {
    const { runtime, session, call } = await begin(defineDesk().environment as never);
    expect(listStepTools(runtime).map(({ name }) => name)).toEqual(DESK_TOOLS);
    expect(await call("add", { a: 1, b: 2 })).toMatchObject({ ok: true, content: text("3"), reward: 0, done: false });
    expect(await call("tally")).toMatchObject({ ok: true, content: text("1"), reward: 0.5, done: false });
    expect(await call("tally")).toMatchObject({
      ok: true,
      content: text("2"),
      reward: 0.5,
      done: true,
      isError: false,
    });
    expect(session.stepCount).toBe(3);
    expect(await call("tally")).toMatchObject({ ok: false, reason: "episode_finished" });
    expect(session.stepCount).toBe(3);
  });

  test("takes no step for an unknown tool or wrong arguments", async () => {
    const { session, call } = await begin(defineDesk().environment as never);
    expect(await call("nothing")).toMatchObject({ ok: false, reason: "unknown_tool" });
    expect(await call("step")).toMatchObject({ ok: false, reason: "unknown_tool" });
    expect(await call("add", { a: "x" })).toMatchObject({ ok: false, reason: "invalid_input" });
    expect(session.stepCount).toBe(0);
  });

  test("has no result for a tool that failed through no fault of the agent", async () => {
    const { call } = await begin(defineDesk().environment as never);
    for (const [name, given] of [
      ["fail", { why: "a bug" }],
      ["unreachable", {}],
      ["wrong", {}],
      ["late", {}],
    ] as const) {
      expect(await call(name, given)).toMatchObject({ ok: false, reason: "infrastructure" });
    }
  });
});

describe("an environment whose action is a union", () => {
  const contract = defineContract({
    name: "sql_env",
    action: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("query"), sql: z.string() }).describe("Runs SQL."),
      z.object({ kind: z.literal("answer"), value: z.int() }),
    ]),
    observation: z.object({ text: z.string() }),
  });
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: { text: "" } }),
    step: (action) =>
      action.kind === "query"
        ? { observation: { text: action.sql } }
        : { observation: { text: "" }, reward: action.value, done: true },
  }));

  test("offers a tool for each variant, whose call is a step", async () => {
    const { runtime, session, call } = await begin(environment as never);
    expect(listStepTools(runtime)).toMatchObject([
      { name: "query", description: "Runs SQL.", input_schema: { required: ["sql"] } },
      { name: "answer", input_schema: { required: ["value"] } },
    ]);
    expect(await call("query", { sql: "a" })).toMatchObject({ ok: true, content: text("a") });
    expect(await call("answer", { value: 2 })).toMatchObject({ ok: true, reward: 2, done: true });
    expect(session.stepCount).toBe(2);
  });

  test("refuses other arguments than those of the variant, without a step", async () => {
    const { session, call } = await begin(environment as never);
    for (const given of [{}, { value: 1 }, { sql: "a", metadata: {} }]) {
      expect(await call("query", given)).toMatchObject({ ok: false, reason: "invalid_input" });
    }
    expect(await call("query", { kind: "answer", value: 1 })).toMatchObject({
      message: '"kind" is not an argument of the tool "query".',
    });
    expect(await call("step", { kind: "query", sql: "a" })).toMatchObject({ reason: "unknown_tool" });
    expect(session.stepCount).toBe(0);
  });
});

describe("an environment without tools", () => {
  test("offers one tool whose input is the action", async () => {
    const { runtime, session, call } = await begin(defineCounter().environment as never);
    const [tool, ...others] = listStepTools(runtime);
    expect(others).toEqual([]);
    expect(tool).toMatchObject({ name: "step", description: "The counter value." });
    expect(tool?.input_schema).toMatchObject({ type: "object", required: ["amount"], additionalProperties: false });
    expect(Object.keys(tool?.input_schema["properties"] as object)).toEqual(["amount"]);
    expect(await call("step", { amount: 4 })).toEqual({
      ok: true,
      content: text('{"count":4}'),
      isError: false,
      reward: 4,
      done: false,
      metadata: {},
      observation: { count: 4 },
    });
    expect(await call("step", { amount: 6 })).toMatchObject({ ok: true, done: true });
    expect(await call("step", { amount: 1 })).toMatchObject({ ok: false, reason: "episode_finished" });
    expect(session.stepCount).toBe(2);
    await session.call({ type: "reset" });
    expect(await call("step", { amount: 1 })).toMatchObject({ ok: true, reward: 1, done: false });
  });

  test("refuses what is not its action, without a step", async () => {
    const { session, call } = await begin(defineCounter().environment as never);
    for (const given of [{}, { amount: 1000 }, { amount: 1, more: 1 }, { amount: 1, metadata: {} }]) {
      expect(await call("step", given)).toMatchObject({ ok: false, reason: "invalid_input" });
    }
    expect(await call("reset")).toMatchObject({ ok: false, reason: "unknown_tool" });
    expect(session.stepCount).toBe(0);
  });

  test("has no result when the environment failed or the session has ended", async () => {
    const { sessions, session, call } = await begin(defineCounter().environment as never);
    const failed = await call("step", { amount: 13 });
    expect(failed).toMatchObject({ ok: false, reason: "infrastructure", error: { code: "EXECUTION_ERROR" } });
    sessions.end(session, "tests");
    expect(await call("step", { amount: 1 })).toMatchObject({
      reason: "infrastructure",
      error: { code: "SESSION_ERROR" },
    });
  });

  test("refuses the second of two calls at once when the first ends the episode", async () => {
    const { session, call } = await begin(defineCounter().environment as never);
    const [slow, next] = await Promise.all([call("step", { amount: 50 }), call("step", { amount: 1 })]);
    expect(slow).toMatchObject({ ok: true, done: true });
    expect(next).toMatchObject({ ok: false, reason: "episode_finished" });
    expect(session.stepCount).toBe(1);
  });
});

test("the end of the episode is part of a session's image", async () => {
  const contract = defineContract({ name: "short_env", action: z.object({}), observation: z.object({ n: z.int() }) });
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: { n: 0 } }),
    step: () => ({ observation: { n: 1 }, done: true }),
    snapshot: () => ({}),
    restore: () => {},
  }));
  const { sessions, session, call } = await begin(environment as never);
  await call("step");
  const copy = await openFrom(sessions, await capture(session));
  expect(await callStepTool(copy, { name: "step", given: {} })).toMatchObject({ reason: "episode_finished" });
});

describe("an observation", () => {
  test("with one text is that text; another is JSON", () => {
    expect(renderContent({ note: "hello", metadata: { a: 1 } })).toEqual(text("hello"));
    expect(renderContent({ note: "hello", n: 1 })).toEqual(text('{"note":"hello","n":1}'));
    expect(renderContent({})).toEqual([]);
  });

  test("has its images as blocks", () => {
    const picture = "data:image/png;base64,iVBORw0KGgo=";
    const block = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
    expect(z.object({ picture: image() }).safeParse({ picture }).success).toBe(true);
    expect(renderContent({ picture })).toEqual([...text('{"picture":"image 1"}'), block]);
    expect(renderContent({ n: 1, all: [picture, picture] })).toEqual([
      ...text('{"n":1,"all":["image 1","image 2"]}'),
      block,
      block,
    ]);
  });
});
