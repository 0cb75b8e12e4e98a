import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chooseRows, listRows } from "./rows.mjs";

const plan = JSON.parse(readFileSync(join(import.meta.dirname, "study.json"), "utf8"));
const rows = listRows(plan, { quick: false, dir: "results" });

test("the whole study is planned for at most eight hours, each row for less than half an hour", () => {
  expect(rows.reduce((sum, { minutes }) => sum + minutes, 0)).toBeLessThan(8 * 60);
  for (const { id, minutes } of rows) expect(minutes, id).toBeLessThan(30);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
});

test("--only chooses a row by its id, and several by how they begin", () => {
  const choose = (only) => chooseRows(rows, only).map(({ id }) => id);
  expect(choose("grid/node-1-worker/1")).toEqual(["grid/node-1-worker/1"]);
  expect(choose("messages,grid/python-1")).toEqual([
    ...["1", "5", "10"].map((wait) => `grid/python-1-worker/${wait}`),
    "messages",
  ]);
  expect(choose(undefined)).toHaveLength(rows.length);
  expect(() => choose("grid/rust")).toThrow(/no row begins with "grid\/rust": grid\/node-1-worker, /);
});
