import { expect, test } from "vitest";
import { findFragments } from "./comments.mjs";

test.each([
  "Whether the session is over.",
  "How often it is looked for, milliseconds.",
  "Of a session by address. Its requests have no numbers.",
  "Like {@link open}, for a session that requests name.",
  "As {@link open}, for a session that requests name.",
  "By which the journal knows a session.",
  "In a resumable session: the number of the request.",
  "With the extension `view`: the answer to a fork, which has copies.",
  "For `tools/list`.",
])("the fragment %j is reported", (comment) => {
  expect(findFragments("a.ts", `let a = 1;\n/** ${comment} */\nlet b = 2;`)).toEqual([
    `a.ts:2 is not a sentence: "${comment.split(/(?<=[.:]) /)[0]}"`,
  ]);
});

test.each([
  "True when the session is over.",
  "By default, the server closes it.",
  "In a worker, this is the shared handle: all workers have it.",
  "At most one session is opened.",
  "What the client sent.",
  "The number of open sockets.",
  "Offers a session. How it ends is not known.",
])("the comment %j is fine", (comment) => {
  expect(findFragments("a.tsx", `/** ${comment} */`)).toEqual([]);
});

test("a sentence may have several lines", () => {
  expect(findFragments("a.ts", "/**\n * With a journal\n * on a disk, a session continues.\n */")).toEqual([]);
  expect(findFragments("a.ts", "// With a journal\n// on a disk, a session continues.\n")).toEqual([]);
  expect(findFragments("a.ts", "// Whether a session\n// continues.\n")).toEqual([
    'a.ts:1 is not a sentence: "Whether a session continues."',
  ]);
});

test("a comment behind code and one below it are two comments", () => {
  expect(findFragments("a.ts", "let a = 1; // The first.\n// Of the second.\nlet b = 2;")).toEqual([
    'a.ts:2 is not a sentence: "Of the second."',
  ]);
});
