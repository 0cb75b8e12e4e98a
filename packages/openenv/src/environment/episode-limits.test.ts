import { afterEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../test-support/servers/servers.js";
import { connect } from "../connect.js";
import { defineContract } from "../contract/contract.js";
import { defineTools } from "../contract/tools/tools.js";
import { defineEnvironment } from "./define-environment.js";
import type { EnvironmentOptions } from "./environment.js";
import { Rubric } from "./rubrics/rubric.js";

afterEach(() => {
  vi.restoreAllMocks();
});

const contract = defineContract({
  name: "walk_env",
  action: z.object({ last: z.boolean().default(false) }),
  observation: z.object({}),
  tools: defineTools({ look: { description: "Looks." } }),
});
const define = (options: EnvironmentOptions, rubric?: Rubric) =>
  defineEnvironment(
    contract,
    () => ({
      ...(rubric && { rubric }),
      reset: () => ({ observation: {} }),
      step: async ({ last }) => ({ observation: {}, done: last }),
      tools: { look: () => "a wall" },
    }),
    options,
  );

const { start, open } = useServers();

test("maxSteps truncates an episode, with the same result on the wire as a truncation by the environment", async () => {
  const socket = await open(await start({}, { environment: define({ maxSteps: 2 }) }));
  const step = (action: object) => socket.ask({ type: "step", data: action });
  for (let episode = 0; episode < 2; episode++) {
    await socket.ask({ type: "reset", data: {} });
    expect(await step({})).toMatchObject({ data: { done: false } });
    expect(await step({})).toMatchObject({ data: { done: true, metadata: { truncated: true } } });
  }
});

test("an observation that declares truncated has it when a limit ends the episode", async () => {
  const shown = defineContract({
    name: "shown_env",
    action: z.object({}),
    observation: z.object({ truncated: z.boolean().default(false) }),
  });
  const environment = defineEnvironment(
    shown,
    () => ({ reset: () => ({ observation: {} }), step: () => ({ observation: {} }) }),
    { maxSteps: 2 },
  );
  const socket = await open(await start({}, { environment }));
  const step = () => socket.ask({ type: "step", data: {} });
  await socket.ask({ type: "reset", data: {} });
  expect(await step()).toMatchObject({ data: { done: false, observation: { truncated: false } } });
  expect(await step()).toMatchObject({ data: { done: true, observation: { truncated: true } } });
});

test("a tool call by a step counts as a step, and can end the episode", async () => {
  const socket = await open(await start({}, { environment: define({ maxSteps: 2 }) }));
  const call = { type: "call_tool", tool_name: "look", arguments: {} };
  await socket.ask({ type: "reset", data: {} });
  expect(await socket.ask({ type: "step", data: { type: "list_tools" } })).toMatchObject({ data: { done: false } });
  expect(await socket.ask({ type: "step", data: call })).toMatchObject({ data: { done: false } });
  expect(await socket.ask({ type: "step", data: call })).toMatchObject({
    data: { done: true, metadata: { truncated: true } },
  });
});

test("an episode that ends with the last allowed step is not truncated", async () => {
  await using env = await connect(define({ maxSteps: 1 }));
  await env.reset();
  expect((await env.step({ last: true })).outcome).toBe("terminated");
});

test("maxSeconds truncates the first step after the limit, and starts again with a reset", async () => {
  await using env = await connect(define({ maxSeconds: 60 }));
  await env.reset();
  expect((await env.step({})).outcome).toBe("ok");
  const real = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => real() + 61_000);
  expect((await env.step({})).outcome).toBe("truncated");
  await env.reset();
  expect((await env.step({})).outcome).toBe("ok");
});

test("maxSeconds counts from the first step of an episode without a reset", async () => {
  await using env = await connect(define({ maxSeconds: 60, stepBeforeReset: "allow" }));
  expect((await env.step({})).outcome).toBe("ok");
});

test("a rubric receives truncated episodes as such", async () => {
  class Truncated extends Rubric {
    forward(_action: unknown, seen: unknown): number {
      const { done, metadata } = seen as { done: boolean; metadata: { truncated?: boolean } };
      return done && metadata.truncated === true ? 1 : 0;
    }
  }
  await using env = await connect(define({ maxSteps: 2 }, new Truncated()));
  await env.reset();
  expect([(await env.step({})).reward, (await env.step({})).reward]).toEqual([0, 1]);
});

test.each([
  [{ maxSteps: 0 }, "maxSteps must be a positive integer, got 0."],
  [{ maxSteps: 1.5 }, "maxSteps must be a positive integer, got 1.5."],
  [{ maxSeconds: -1 }, "maxSeconds must be a positive number of seconds, got -1."],
])("%o is rejected", (options, message) => {
  expect(() => define(options)).toThrow(new TypeError(message));
});

test("stepAfterDone refuses steps and tool calls after the end, until the next reset", async () => {
  await using env = await connect(define({ stepAfterDone: "error" }));
  await env.reset();
  await env.step({ last: true });
  await expect(env.step({})).rejects.toMatchObject({ code: "EPISODE_DONE" });
  await expect(env.tools.look({})).rejects.toMatchObject({ code: "EPISODE_DONE" });
  await env.reset();
  expect((await env.step({})).done).toBe(false);
});
