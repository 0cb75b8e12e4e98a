import { describe, expect, test } from "vitest";
import { findDifferences, findOrderDifferences } from "./compare.js";

const invalid = (...errors: object[]) => ({
  recv: [{ type: "error", data: { message: "no", code: "VALIDATION_ERROR", errors } }],
});
const missing = { type: "missing", loc: ["amount"], msg: "Field required", input: {}, url: "https://example.org" };
const extra = { type: "extra_forbidden", loc: ["x"], msg: "Unknown", input: 1 };

describe("an answer equals the recorded one", () => {
  test.each([
    ["with different wording", invalid(missing), invalid({ ...missing, msg: "is not there", url: undefined })],
    ["with 2 for 2.0", { response: { reward: 2.0 } }, { response: { reward: 2 } }],
    ["with its keys in another order", { response: { a: 1, b: 2 } }, { response: { b: 2, a: 1 } }],
    ["with more headers", { response_headers: { allow: "POST" } }, { response_headers: { allow: "POST", x: "1" } }],
    ["that matches a wildcard", { response: { hash: "<string>" } }, { response: { hash: "ab" } }],
  ])("%s", (_what, recorded, ours) => {
    expect(findDifferences(recorded, JSON.parse(JSON.stringify(ours)))).toEqual([]);
  });
});

describe("an answer differs from the recorded one", () => {
  test.each([
    ["with another value", { response: { count: 1 } }, { response: { count: 2 } }],
    ["with another status", { status: 200 }, { status: 500 }],
    ["with another code", { response: { code: "A" } }, { response: { code: "B" } }],
    ["with an extra key", { response: {} }, { response: { more: 1 } }],
    ["with a missing key", { response: { metadata: null } }, { response: {} }],
    ["with another type of error", invalid(missing), invalid({ ...missing, type: "int_type" })],
    ["with another path", invalid(missing), invalid({ ...missing, loc: ["data", "amount"] })],
    ["without the input", invalid(extra), invalid({ ...extra, input: undefined })],
    ["with its errors in another order", invalid(missing, extra), invalid(extra, missing)],
    ["with an extra frame", { recv: [] }, { recv: [{ type: "state", data: {} }] }],
    ["with an unsolicited frame", { recv: [] }, { recv: [], unsolicited: [{}] }],
    ["with a close", { recv: [] }, { recv: [], closed_by_server: { code: 1000 } }],
    ["with another close code", { closed_by_server: { code: 1000 } }, { closed_by_server: { code: 1011 } }],
    ["with text instead of JSON", { response: {} }, { response_text: "" }],
    [
      "with a header that must be absent",
      { response_headers: { vary: null } },
      { response_headers: { vary: "origin" } },
    ],
    [
      "with another redirect",
      { response_headers: { location: "http://h/a" } },
      { response_headers: { location: "/b" } },
    ],
  ])("%s", (_what, recorded, ours) => {
    expect(findDifferences(recorded, JSON.parse(JSON.stringify(ours)))).not.toEqual([]);
  });

  test("in the order of the keys of a schema", () => {
    const recorded = { action: { properties: { a: 1, b: 2 } } };
    expect(findOrderDifferences(recorded, { action: { properties: { a: 1, b: 2 } } })).toEqual([]);
    expect(findOrderDifferences(recorded, { action: { properties: { b: 2, a: 1 } } })).toHaveLength(1);
  });
});
