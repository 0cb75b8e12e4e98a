import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findProblems } from "./layers.mjs";

let src;
beforeEach(() => {
  src = mkdtempSync(join(tmpdir(), "openenv-layers-"));
});
afterEach(() => rmSync(src, { recursive: true, force: true }));

test("imports along the arrows are fine, over any number of steps", () => {
  expect(
    problemsOf({
      "errors.ts": "export const E = 1;",
      "protocol/http.ts": 'import { E } from "../errors.js"; export const H = E;',
      "server/serve.ts": 'import { H } from "../protocol/http.js"; export const S = H;',
      "cli/main.ts": 'import { S } from "../server/serve.js"; export const M = S;',
    }),
  ).toEqual([]);
});

test.each([
  ["a static import", 'import { S } from "../server/serve.js"; export const C = S;'],
  ["a type import", 'import type { S } from "../server/serve.js"; export type C = S;'],
  ["a type in an expression", 'export type C = import("../server/serve.js").S;'],
  ["a dynamic import", 'export const C = () => import("../server/serve.js");'],
  ["an export from elsewhere", 'export { S } from "../server/serve.js";'],
])("%s against the picture is named", (_, text) => {
  expect(problemsOf({ "server/serve.ts": "export const S = 1;", "client/client.ts": text })).toEqual([
    'client/client.ts:1 "../server/serve.js" is an arrow against the picture: client -> server.',
  ]);
});

test("a composition edge is for entries and for what stands on both sides, and knows no command line", () => {
  const found = problemsOf({
    "cli/main.ts": "export const M = 1;",
    "connect.ts": 'import { M } from "./cli/main.js"; export const connect = M;',
    "client/index.ts": 'export { connect } from "../connect.js";',
    "client/other.ts": 'export { connect } from "../connect.js";',
    "testing/check.ts": 'export { connect } from "../connect.js";',
  });
  expect(found).toEqual([
    'client/other.ts:1 "../connect.js" is an arrow against the picture: client -> edge.',
    'connect.ts:1 "./cli/main.js" is an arrow against the picture: edge -> cli.',
  ]);
});

test("compat stands on the server, and one file of the server mounts it", () => {
  const found = problemsOf({
    "server/dispatch.ts": "export const D = 1;",
    "compat/routes.ts": 'import { D } from "../server/dispatch.js"; export const R = D;',
    "server/serve.ts": 'import { R } from "../compat/routes.js"; export const S = R;',
    "server/session.ts": 'import type { R } from "../compat/routes.js"; export type T = R;',
    "cli/main.ts": 'import { R } from "../compat/routes.js"; export const M = R;',
  });
  expect(found).toEqual([
    'cli/main.ts:1 "../compat/routes.js" is an arrow against the picture: cli -> compat.',
    'server/session.ts:1 "../compat/routes.js" is an arrow against the picture: server -> compat.',
  ]);
});

test("a folder that the picture does not know is named", () => {
  const found = problemsOf({ "extra/x.ts": 'import "../errors.js";', "errors.ts": "" });
  expect(found).toEqual(['extra/x.ts:1 "../errors.js" touches "extra", which has no place in the layer picture.']);
});

test("cycles are found, of types too", () => {
  const found = problemsOf({
    "contract/a.ts": 'import type { B } from "./b.js"; export type A = B;',
    "contract/b.ts": 'import type { A } from "./a.js"; export type B = A;',
  });
  expect(found).toEqual(["import cycle: contract/a.ts -> contract/b.ts -> contract/a.ts"]);
});

test("printing is left to the output file of the command line, and to tests", () => {
  const found = problemsOf({
    "cli/terminal/output.ts": 'process.stdout.write("x");',
    "cli/main.ts": '\nconsole.log("x");',
    "server/x.ts": "const { stderr } = process; process.stderr.write(String(stderr));",
    "server/x.test.ts": 'console.log("x");',
  });
  expect(found).toEqual([
    "cli/main.ts:2 prints; only cli/terminal/output.ts does.",
    "server/x.ts:1 prints; only cli/terminal/output.ts does.",
  ]);
});

function problemsOf(files) {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(src, file)), { recursive: true });
    writeFileSync(join(src, file), text);
  }
  return findProblems(src);
}
