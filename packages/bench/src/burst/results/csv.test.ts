import { expect, it } from "vitest";
import { parseTable, renderTable } from "./csv.js";

it("reads a table as it was written, commas, quotes and what is not there included", () => {
  const rows = [
    { name: 'two "cores", big', count: 7, part: 0.25, good: true, missing: null },
    { name: "plain", count: -1, part: 1e-7, good: false, missing: null },
    { name: "", count: 0, part: 0, good: false, missing: null },
  ];
  expect(parseTable(renderTable(rows), ["name"])).toEqual(rows);
});

it("keeps a line break of a value from making a row", () => {
  expect(parseTable(renderTable([{ a: "one\r\ntwo", b: 1 }]))).toEqual([{ a: "one two", b: 1 }]);
});

it("is empty without rows", () => {
  expect(renderTable([])).toBe("");
  expect(parseTable("")).toEqual([]);
});
