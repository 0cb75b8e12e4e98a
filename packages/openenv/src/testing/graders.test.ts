import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JsonObject } from "../protocol/messages.js";
import type { RecordedCall } from "./collect-episode.js";
import { rewardProblems, schemaProblems, stateProblems } from "./graders.js";

const TRANSCRIPTS = join(import.meta.dirname, "../../../../conformance/transcripts");

interface Recorded {
  exchanges: { operation: RecordedCall["operation"]; request: JsonObject; response: { data: JsonObject } }[];
  checks: { id: string; status: string }[];
}

test.each([
  ["validator/runtime/counter", "http/schema/counter"],
  ["validator/runtime/mcp", "http/schema/mcp"],
])("sees in a recorded episode what the released graders saw: %s", (name, schemaOf) => {
  const [recorded] = find("clients", name)["client_results"] as [Recorded];
  const schema = find("http", schemaOf)["response"] as JsonObject;
  const exchanges = recorded.exchanges.map(({ operation, request, response }) => {
    return { operation, request: (request["data"] ?? {}) as JsonObject, data: response.data };
  });
  const problems = {
    "runtime.reward_well_formed": rewardProblems(exchanges, [-100, 100]),
    "runtime.observation_schema": schemaProblems(exchanges, schema),
    "runtime.state_contract": stateProblems(exchanges),
  };
  const ours = Object.entries(problems).map(([id, found]) => ({ id, status: found.length > 0 ? "fail" : "pass" }));
  expect(ours).toEqual(recorded.checks.map(({ id, status }) => ({ id, status })));
});

test("a reward must be there, a number, and in range", () => {
  const graded = (reward?: unknown) => {
    const data = { observation: {}, done: false, ...(reward !== undefined && { reward }) };
    return rewardProblems([{ operation: "step", request: {}, data }], [0, 1]);
  };
  expect(graded(0.5)).toEqual([]);
  expect([graded(), graded(true), graded(Number.POSITIVE_INFINITY), graded(2)].flat()).toEqual([
    "step 1 has no reward",
    "step 1 gave the reward true",
    "step 1 gave the reward null",
    "step 1 gave the reward 2, outside 0 to 1",
  ]);
});

test("a schema that points outside of itself is not fetched, but refused", () => {
  const schema = { observation: { $ref: "http://127.0.0.1:9/schema.json" }, state: {} };
  expect(schemaProblems([], schema)).toEqual([expect.stringMatching(/schema `.*` is none: can't resolve reference/)]);
});

function find(transcript: string, name: string): JsonObject {
  const lines = readFileSync(join(TRANSCRIPTS, `${transcript}.jsonl`), "utf8")
    .trim()
    .split("\n");
  const found = lines.map((line) => JSON.parse(line) as JsonObject).find((row) => row["case"] === name);
  if (!found) throw new Error(`no case ${name}`);
  return found;
}
