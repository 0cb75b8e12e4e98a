import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SchemaBody } from "../http.js";
import { canonicalSchemas, hashSchemas } from "./json-schema.js";

function body(action: object): SchemaBody {
  const empty = { type: "object" };
  return { action: { ...action }, observation: empty, state: empty, reset_observation: empty };
}

const amount = { type: "integer", minimum: 0, default: { b: 1, a: 2 } };
const base = { type: "object", properties: { amount }, required: ["amount", "b"], additionalProperties: false };

test("the hash is the SHA-256 of the canonical text, and does not change between versions", async () => {
  const hash = await hashSchemas(body(base));
  expect(hash).toBe(
    createHash("sha256")
      .update(canonicalSchemas(body(base)))
      .digest("hex"),
  );
  expect(hash).toBe("08c0d7e2112f9300bd4f7b78a518e70762d52b63c4e26d078a088c2286eeaf99");
});

test("titles, descriptions and examples do not affect the hash", () => {
  const decorated = {
    ...base,
    title: "T",
    description: "d",
    properties: { amount: { ...amount, title: "A", examples: [1] } },
  };
  expect(canonicalSchemas(body(decorated))).toBe(canonicalSchemas(body(base)));
});

test("the order of required fields and of choices does not affect the hash", () => {
  const choice = (values: string[], required: string[]) => body({ properties: { a: { enum: values } }, required });
  expect(canonicalSchemas(choice(["x", "y"], ["a", "b"]))).toBe(canonicalSchemas(choice(["y", "x"], ["b", "a"])));
});

test.each([
  ["a limit", { ...base, properties: { amount: { ...amount, minimum: 1 } } }],
  ["a required field", { ...base, required: ["amount"] }],
  ["a field that is called title", { ...base, properties: { amount, title: { type: "string" } } }],
  ["a field that is called description", { ...base, properties: { amount, description: { type: "string" } } }],
  ["a title inside a default", { ...base, properties: { amount: { ...amount, default: { title: "x" } } } }],
  ["a constant", { ...base, properties: { amount: { const: [1, 2] } } }],
])("%s affects the hash", (_what, action) => {
  expect(canonicalSchemas(body(action))).not.toBe(canonicalSchemas(body(base)));
});

test("the part of a schema affects the hash", () => {
  const { action, ...others } = body(base);
  expect(canonicalSchemas({ ...others, action, state: action })).not.toBe(
    canonicalSchemas({ ...others, action, observation: action }),
  );
});

test("the order of keys never affects the hash", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (schema) => {
      expect(canonicalSchemas(body(reversed(schema) as object))).toBe(canonicalSchemas(body(schema)));
    }),
  );
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, member]) => [key, reversed(member)]));
}
