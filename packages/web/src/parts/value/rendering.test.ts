import { expect, test } from "vitest";
import { renderingOf, textKindOf } from "./rendering.js";

const order = { sku: "LAMP-1", qty: 1, price: 49.9 };

test.each<[string, object, string]>([
  ["a list of similar objects", [order, { ...order, sku: "BULB-3", gift: null }], "table"],
  ["one object in a list", [order], "json"],
  ["objects without common fields", [{ a: 1 }, { b: 2 }, { c: 3 }, { d: 4 }], "json"],
  ["objects with lists", [{ a: [1] }, { a: [2] }], "json"],
  [
    "messages of a chat",
    [
      { role: "user", content: "hi" },
      { role: "assistant", content: "hello" },
    ],
    "chat",
  ],
  ["messages of a text game", [{ sender_id: 0, content: "[crane]", category: "MESSAGE" }], "chat"],
  [
    "parts of MCP",
    [
      { type: "text", text: "hi" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ],
    "parts",
  ],
  ["a part of a chat API", { type: "image_url", image_url: { url: "https://a.example/b.png" } }, "parts"],
  ["many numbers", Array.from({ length: 50 }, (_, at) => at), "list"],
  ["a large object", { text: "x\ny", more: { deep: [order] } }, "tree"],
])("%s is shown in one form", (_, value, kind) => {
  expect(renderingOf(value).kind).toBe(kind);
});

test.each([
  ["Hello, world", "text"],
  ["# Title\n\nSome text", "markdown"],
  ["# a comment\nimport os", "text"],
  ["Use **49.90**, not more.", "markdown"],
  ["2**3**4 and a ** b ** c", "text"],
  ["see [the policy](https://example.org/a)", "markdown"],
  ["| a | b |\n|---|---|\n| 1 | 2 |", "markdown"],
  ["```\ncode\n```", "markdown"],
  ['[{"sku": "LAMP-1"}]', "json"],
  ["[crane]", "text"],
  ["{not json", "text"],
  [`${"> ".repeat(5000)}**deep**`, "text"],
  [`${"[".repeat(100_000)}`, "text"],
])("%j is read as it is meant", (text, kind) => {
  expect(textKindOf(text)).toBe(kind);
});
