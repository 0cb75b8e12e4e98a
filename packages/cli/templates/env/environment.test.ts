import { connect } from "openenv-ts/client";
import { checkEnvironment, renderCheckReport } from "openenv-ts/testing";
import { expect, test } from "vitest";
import environment from "./server/environment.js";

test("who hits the target earns 1", async () => {
  await using env = await connect(environment);
  let result = await env.reset({ seed: 7 });
  while (!result.done) {
    const { count, target } = result.observation;
    result = await env.step({ amount: Math.min(5, target - count) });
  }
  expect(result.reward).toBe(1);
});

test("who goes past it earns nothing", async () => {
  await using env = await connect(environment);
  let result = await env.reset({ seed: 7 });
  while (!result.done) {
    const { count, target } = result.observation;
    result = await env.step({ amount: target - count === 5 ? 4 : 5 });
  }
  expect(result.reward).toBe(0);
});

test("the environment keeps what every environment promises", async () => {
  const report = await checkEnvironment(environment);
  expect(report.passed, renderCheckReport(report)).toBe(true);
});
