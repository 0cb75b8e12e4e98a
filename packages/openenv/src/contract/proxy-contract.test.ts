import { expect, test } from "vitest";
import * as z from "zod";
import { defineContract } from "./contract.js";
import { proxyContract } from "./proxy-contract.js";

const tools = {
  go: {
    description: "Goes.",
    input: z.object({ to: z.enum(["north", "south"]) }),
    output: z.object({ seen: z.string() }),
  },
};
const original = defineContract({ name: "maze_env", version: "2.1.0", description: "A maze.", tools });

test("a contract from the schemas of another has the same schemas and the same hash", async () => {
  const { name, version, description } = original;
  const schemas = JSON.parse(JSON.stringify(original.schemas()));
  const copy = proxyContract({ name, version, description, schemas });
  expect(copy.schemas()).toEqual(schemas);
  expect(await copy.fingerprint()).toEqual(await original.fingerprint());
  expect(Object.keys(copy.tools)).toEqual(["go"]);
});

test("a server of the Python package has no schema of the observation of a reset", () => {
  const { action, observation, state } = original.schemas();
  const copy = proxyContract({ name: "a", schemas: { action, observation, state } });
  expect(copy.schemas().reset_observation).toEqual(observation);
  expect(copy.version).toBe("1.0.0");
});

test("the tools may come apart from the schemas, and keep their input", () => {
  const { tools: listed = [], ...schemas } = original.schemas();
  const copy = proxyContract({ name: "a", schemas, tools: listed });
  expect(copy.schemas().tools).toEqual(listed);
});
