import { connect } from "openenv-ts/client";
import { checkEnvironment, renderCheckReport } from "openenv-ts/testing";
import { expect, test } from "vitest";
import environment from "./server/environment.js";

test("a result that answers the question gives a reward of 1", async () => {
  await using env = await connect(environment);
  // A seed whose question is how many orders come from a city.
  const { observation } = await env.reset({ seed: 5 });
  const [, city = ""] = /orders come from (\w+)/.exec(observation.question) ?? [];
  const sql = `SELECT count(*) FROM orders WHERE customer IN (SELECT id FROM customers WHERE city = '${city}')`;
  expect(await env.step({ sql })).toMatchObject({ reward: 1, done: true });
});

test.each([
  ["SELECT * FROM order", /syntax error/],
  ["DELETE FROM orders", /not authorized/],
  ["PRAGMA writable_schema = 1", /not authorized/],
  ["WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", /not authorized/],
  ["SELECT zeroblob(1000000000)", /too big/],
])("%s is refused with a reward of 0", async (sql, message) => {
  await using env = await connect(environment);
  await env.reset({ seed: 7 });
  const { observation, reward, done } = await env.step({ sql });
  expect(observation.message).toMatch(message);
  expect({ reward, done }).toEqual({ reward: 0, done: false });
});

test("the environment passes all checks", async () => {
  const report = await checkEnvironment(environment);
  expect(report.passed, renderCheckReport(report)).toBe(true);
});
