import { expect, test } from "vitest";
import { findUses, judge } from "./internal.mjs";

const ENTRY = `
import * as checker from "./report.js";
export { one, type Two } from "./some.js";
export { checker };
export const loadThings = () => import("./things.js");
`;
const USERS = [
  ["packages/cli/src/a.ts", 'import { one, type Two } from "openenv-ts/internal";'],
  [
    "packages/web/src/b.tsx",
    'import { loadThings, one } from "openenv-ts/internal"; const { x, y } = await loadThings(); (await loadThings()).z();',
  ],
  ["benchmarks/ports/main.mjs", 'import { one } from "openenv-ts/internal"; import { other } from "openenv-ts";'],
];

test("the users of each name are found, and what they take from a module that is loaded", () => {
  expect(findUses({ entry: ENTRY, users: USERS })).toEqual([
    { name: "Two", users: ["cli"], loaded: [] },
    { name: "checker", users: [], loaded: [] },
    { name: "loadThings", users: ["web"], loaded: ["x", "y", "z"] },
    { name: "one", users: ["benchmarks", "cli", "web"], loaded: [] },
  ]);
});

test("a name without a user, and a number of names that is not the limit, are reported", () => {
  const uses = findUses({ entry: ENTRY, users: USERS });
  const unused = "openenv-ts/internal exports checker, which no other package uses. Remove it.";
  expect(judge(uses, 4)).toEqual([unused]);
  expect(judge(uses, 3)).toEqual([unused, "openenv-ts/internal has 4 names; 3 is the limit."]);
  expect(judge(uses, 5)[1]).toMatch(/lower NAMES/);
});
