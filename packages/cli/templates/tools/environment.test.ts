import { connect } from "openenv-ts/client";
import { checkEnvironment, renderCheckReport } from "openenv-ts/testing";
import { expect, test } from "vitest";
import environment from "./server/environment.js";

test("shipping what was ordered gives a reward of 1", async () => {
  await using env = await connect(environment);
  await env.reset({ split: "test", index: 0 });
  const { data } = await env.tools.search({ text: "white" });
  for (const { code } of data) await env.tools.pack({ code });
  await env.tools.pack({ code: "H1", count: 2 });
  expect(await env.tools.ship()).toMatchObject({ reward: 1, done: true });
});

test("shipping something else gives a reward of 0", async () => {
  await using env = await connect(environment);
  await env.reset({ split: "test", index: 0 });
  const { data, done } = await env.tools.pack({ code: "unknown" });
  expect({ data, done }).toEqual({ data: { packed: false, box: {} }, done: false });
  expect(await env.tools.ship()).toMatchObject({ reward: 0, done: true });
});

test("the environment passes all checks", async () => {
  const report = await checkEnvironment(environment);
  expect(report.passed, renderCheckReport(report)).toBe(true);
});
