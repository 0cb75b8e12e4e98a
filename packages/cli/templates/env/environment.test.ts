import { connect } from "openenv-ts/client";
import { checkEnvironment, renderCheckReport } from "openenv-ts/testing";
import { expect, test } from "vitest";
import environment from "./server/environment.js";

test("reaching the target gives a reward of 1", async () => {
  await using env = await connect(environment);
  let result = await env.reset({ seed: 7 });
  while (!result.done) {
    const { count, target } = result.observation;
    result = await env.step({ amount: Math.min(5, target - count) });
  }
  expect(result.reward).toBe(1);
});

test("going past the target gives a reward of 0", async () => {
  await using env = await connect(environment);
  let result = await env.reset({ seed: 7 });
  while (!result.done) {
    const { count, target } = result.observation;
    result = await env.step({ amount: target - count === 5 ? 4 : 5 });
  }
  expect(result.reward).toBe(0);
});

test("the environment passes all checks", async () => {
  const report = await checkEnvironment(environment);
  expect(report.passed, renderCheckReport(report)).toBe(true);
});
