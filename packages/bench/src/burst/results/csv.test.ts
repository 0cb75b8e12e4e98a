import { expect, it } from "vitest";
import { parseTable, renderTable } from "./csv.js";

it("reads a table as it was written, including commas, quotes and empty values", () => {
  const rows = [
    { name: 'two "cores", big', count: 7, part: 0.25, good: true, missing: null },
    { name: "plain", count: -1, part: 1e-7, good: false, missing: null },
    { name: "", count: 0, part: 0, good: false, missing: null },
  ];
  expect(parseTable(renderTable(rows), ["name"])).toEqual(rows);
});

it("does not start a new row at a line break in a value", () => {
  expect(parseTable(renderTable([{ a: "one\r\ntwo", b: 1 }]))).toEqual([{ a: "one two", b: 1 }]);
});

it("is empty without rows", () => {
  expect(renderTable([])).toBe("");
  expect(parseTable("")).toEqual([]);
});
