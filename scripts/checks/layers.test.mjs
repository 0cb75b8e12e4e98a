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

test("imports of lower layers are allowed, over any number of steps", () => {
  expect(
    problemsOf({
      "errors.ts": "export const E = 1;",
      "protocol/http.ts": 'import { E } from "../errors.js"; export const H = E;',
      "server/serve.ts": 'import { H } from "../protocol/http.js"; export const S = H;',
      "testing/check.ts": 'import { S } from "../server/serve.js"; export const M = S;',
    }),
  ).toEqual([]);
});

test.each([
  ["a static import", 'import { S } from "../server/serve.js"; export const C = S;'],
  ["a type import", 'import type { S } from "../server/serve.js"; export type C = S;'],
  ["a type in an expression", 'export type C = import("../server/serve.js").S;'],
  ["a dynamic import", 'export const C = () => import("../server/serve.js");'],
  ["an export from elsewhere", 'export { S } from "../server/serve.js";'],
])("%s of a higher layer is reported", (_, text) => {
  expect(problemsOf({ "server/serve.ts": "export const S = 1;", "client/client.ts": text })).toEqual([
    'client/client.ts:1 "../server/serve.js" is not allowed by the layers: client -> server.',
  ]);
});

test("a part imports no other package, and each layer only the parts that it may", () => {
  const parts = {
    "session/session.ts": 'import { Fifo } from "#parts/sockets/scheduling"; export const S = Fifo;',
    "server/serve.ts": 'import { loadRuntime } from "#parts/sockets"; export const S = loadRuntime;',
  };
  expect(problemsOf(parts)).toEqual([]);
  const found = problemsOf({
    "client/client.ts": 'import { Fifo } from "#parts/sockets/scheduling"; export const C = Fifo;',
    "session/session.ts": 'import type { Upgrade } from "#parts/sockets"; export type S = Upgrade;',
    "server/serve.ts": 'import { S } from "@openenv-ts/sockets"; export const T = S;',
  });
  expect(found).toEqual([
    'client/client.ts:1 "#parts/sockets/scheduling" is not allowed by the layers.',
    'server/serve.ts:1 "@openenv-ts/sockets" is not a package of openenv.',
    'session/session.ts:1 "#parts/sockets" is not allowed by the layers.',
  ]);
  for (const specifier of ["openenv-ts", "#parts/sockets", "@openenv-ts/deploy"]) {
    writeFileSync(join(src, "part.ts"), `export { P } from "${specifier}";`);
    expect(findProblems(src, "sockets").some((problem) => problem.startsWith(`part.ts:1 "${specifier}"`))).toBe(true);
  }
});

test("a part that uses openenv-ts imports its modules, and openenv-ts does not import them by that name", () => {
  const text = (specifier) => `export { C } from "${specifier}";`;
  const core = "#core/session/session.js";
  writeFileSync(join(src, "part.ts"), text(core));
  expect(findProblems(src, "durable")).toEqual([]);
  expect(findProblems(src, "sockets")).toEqual([`part.ts:1 "${core}" is not allowed by the layers.`]);
  for (const specifier of ["#core/session/missing.js", "#parts/isolation", "openenv-ts"]) {
    writeFileSync(join(src, "part.ts"), text(specifier));
    expect(findProblems(src, "durable").some((problem) => problem.startsWith(`part.ts:1 "${specifier}"`))).toBe(true);
  }
  rmSync(join(src, "part.ts"));
  expect(problemsOf({ "server/serve.ts": text(core) })).toEqual([
    `server/serve.ts:1 "${core}" is not allowed by the layers.`,
  ]);
});

test("a composition edge is for entries and for what stands on both sides, and knows no suite", () => {
  const found = problemsOf({
    "testing/main.ts": "export const M = 1;",
    "connect.ts": 'import { M } from "./testing/main.js"; export const connect = M;',
    "client/index.ts": 'export { connect } from "../connect.js";',
    "client/other.ts": 'export { connect } from "../connect.js";',
    "testing/check.ts": 'export { connect } from "../connect.js";',
  });
  expect(found).toEqual([
    'client/other.ts:1 "../connect.js" is not allowed by the layers: client -> edge.',
    'connect.ts:1 "./testing/main.js" is not allowed by the layers: edge -> testing.',
  ]);
});

test("compat imports the server, and only one file of the server imports compat", () => {
  const found = problemsOf({
    "server/dispatch.ts": "export const D = 1;",
    "compat/routes.ts": 'import { D } from "../server/dispatch.js"; export const R = D;',
    "server/serve.ts": 'import { R } from "../compat/routes.js"; export const S = R;',
    "server/session.ts": 'import type { R } from "../compat/routes.js"; export type T = R;',
    "testing/main.ts": 'import { R } from "../compat/routes.js"; export const M = R;',
  });
  expect(found).toEqual([
    'server/session.ts:1 "../compat/routes.js" is not allowed by the layers: server -> compat.',
    'testing/main.ts:1 "../compat/routes.js" is not allowed by the layers: testing -> compat.',
  ]);
});

test("an unknown folder is reported", () => {
  const found = problemsOf({ "extra/x.ts": 'import "../errors.js";', "errors.ts": "" });
  expect(found).toEqual(['extra/x.ts:1 "../errors.js" uses "extra", which is not in the list of layers.']);
});

test("import cycles are reported, also of types", () => {
  const found = problemsOf({
    "contract/a.ts": 'import type { B } from "./b.js"; export type A = B;',
    "contract/b.ts": 'import type { A } from "./a.js"; export type B = A;',
  });
  expect(found).toEqual(["import cycle: contract/a.ts -> contract/b.ts -> contract/a.ts"]);
});

test("printing is left to the output file of the command line, and to tests", () => {
  const files = {
    "terminal/output.ts": 'process.stdout.write("x");',
    "main.ts": '\nconsole.log("x");',
    "server/x.ts": "const { stderr } = process; process.stderr.write(String(stderr));",
    "server/x.test.ts": 'console.log("x");',
  };
  expect(problemsOf(files, "cli")).toEqual([
    "main.ts:2 prints; only terminal/output.ts of the command line does.",
    "server/x.ts:1 prints; only terminal/output.ts of the command line does.",
  ]);
});

test("a package imports others by their entries, and only those below it", () => {
  const found = problemsOf(
    {
      "index.ts":
        'import { serve } from "openenv-ts/server"; import { run } from "@openenv-ts/cli/main"; export { run, serve };',
      "start.ts": 'export { serve } from "../../openenv/src/serve.js";',
    },
    "providers",
  );
  expect(found).toEqual([
    'index.ts:1 "@openenv-ts/cli/main" is not a package of providers.',
    'start.ts:1 "../../openenv/src/serve.js" names no file',
  ]);
});

function problemsOf(files, name = "openenv") {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(src, file)), { recursive: true });
    writeFileSync(join(src, file), text);
  }
  return findProblems(src, name);
}
