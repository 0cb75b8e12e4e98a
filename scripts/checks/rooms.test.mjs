import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findBackArrows, judgeArrows, judgeCeilings, unlimited } from "./rooms.mjs";

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "openenv-rooms-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const ROOMS = { low: ["below", "low/"], high: ["above", "high/", "top.ts"] };

function findIn(files) {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return findBackArrows(folder, "layer", ROOMS);
}

test("a room with more lines than its ceiling is reported", () => {
  expect(judgeCeilings({ a: 10, b: 11 }, { a: 10, b: 10 })).toEqual([
    "b has 11 lines; its ceiling is 10. Make it smaller.",
  ]);
});

test("the sources of a package without a ceiling are reported", () => {
  for (const file of ["packages/new/src/room/one.ts", "packages/cli/src/one.ts", "packages/new/test/one.ts"]) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(join(folder, file), "");
  }
  mkdirSync(join(folder, "python"));
  expect(unlimited(folder)).toEqual(["packages/new/src has no ceiling: add it in scripts/checks/rooms.mjs."]);
});

test("an import of a higher room is found, also of a type, and one of a lower room is not", () => {
  const found = findIn({
    "low/one.ts": 'import type { T } from "../top.js";',
    "low/two.ts": 'import "./one.js";',
    "high/three.ts": 'import "../low/one.js"; import "../top.js";',
    "top.ts": 'import "./low/two.js"; export type T = 1;',
    "low/one.test.ts": 'import "../top.js";',
  });
  expect(found).toEqual([{ arrow: "layer: low -> high", at: "layer/low/one.ts:1" }]);
});

test("a file of no room is an error that names it", () => {
  expect(() => findIn({ "other.ts": "import './top.js';", "top.ts": "" })).toThrow("layer/other.ts is in no room");
});

test("the number of imports of a higher room may only fall, and then has to be lowered", () => {
  const found = findIn({ "low/one.ts": 'import "../top.js";', "top.ts": "" });
  const arrow = "layer: low -> high";
  expect(judgeArrows(found, { [arrow]: 1 })).toEqual([]);
  expect(judgeArrows(found, {})).toEqual([`"${arrow}" has 1 imports, 0 are allowed: layer/low/one.ts:1`]);
  expect(judgeArrows(found, { [arrow]: 2 })).toEqual([
    `"${arrow}" has 1 imports: lower its number in scripts/checks/rooms.mjs.`,
  ]);
});
