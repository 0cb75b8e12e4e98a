import { expect, test } from "vitest";
import * as z from "zod";
import * as z3 from "zod/v3";
import { hashSchemas } from "../protocol/schema/json-schema.js";
import { defineContract } from "./contract.js";

const none = z.object({});
const options = {
  name: "counter_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
};

test("a contract has the given options and defaults for the others", () => {
  const contract = defineContract(options);
  expect(contract).toMatchObject({ name: "counter_env", version: "1.0.0", description: "" });
  expect(contract.action).toBe(options.action);
  expect(Object.keys(contract.state.shape)).toEqual([]);
  expect(defineContract({ ...options, version: "2.1.0", description: "d" })).toMatchObject({
    version: "2.1.0",
    description: "d",
  });
});

test("the schemas are rendered once", () => {
  const contract = defineContract(options);
  expect(contract.schemas()).toBe(contract.schemas());
  expect(contract.schemas().action["title"]).toBe("CounterAction");
});

test("the fingerprint is the version and the hash of the schemas", async () => {
  const contract = defineContract({ ...options, version: "3.0.0" });
  expect(await contract.fingerprint()).toEqual({ version: "3.0.0", hash: await hashSchemas(contract.schemas()) });
});

test("the fingerprint changes with a field, not with a description", async () => {
  const hash = async (action: z.ZodObject) => (await defineContract({ ...options, action }).fingerprint()).hash;
  const base = await hash(options.action);
  expect(await hash(z.object({ amount: z.int().describe("How much") }))).toBe(base);
  expect(await hash(z.object({ amount: z.int().max(3) }))).not.toBe(base);
});

test.each([
  ["action", "metadata"],
  ["observation", "reward"],
  ["observation", "done"],
  ["observation", "metadata"],
  ["state", "episode_id"],
  ["state", "step_count"],
  ["reset", "seed"],
  ["reset", "episode_id"],
  ["reset", "split"],
  ["reset", "index"],
  ["reset", "signal"],
  ["reset", "episodeId"],
  ["reset", "timeoutMs"],
])("%s must not declare %s, which the protocol has", (part, key) => {
  const declare = () => defineContract({ ...options, [part]: z.object({ [key]: z.int() }) });
  expect(declare).toThrow(TypeError);
  expect(declare).toThrow(`"${key}"`);
});

test.each([
  ["a union with a string", z.union([none, z.string()])],
  ["an array", z.array(none)],
  ["a string", z.string()],
  ["an object behind a function", none.transform((value) => value)],
  ["a plain object", { amount: "number" }],
  ["undefined", undefined],
])("%s as action is a TypeError that says what to write", (_what, action) => {
  const declare = () => defineContract({ ...options, action: action as never });
  expect(declare).toThrow(TypeError);
  expect(declare).toThrow(
    "The action of a contract must be an object schema or a union of object schemas. Wrap another shape in a field: z.object({ move: yourSchema }).",
  );
});

test("a contract without a name is a TypeError", () => {
  expect(() => defineContract({ ...options, name: "" })).toThrow(/name/);
});

test("a schema of zod 3 is rejected with the version to install", () => {
  const options = { name: "old_env", action: z3.object({ amount: z3.number() }), observation: z3.object({}) };
  expect(() => defineContract(options as never)).toThrow(
    "The action of a contract is a schema of zod 3; openenv-ts needs zod 4: npm install zod@4.",
  );
});
