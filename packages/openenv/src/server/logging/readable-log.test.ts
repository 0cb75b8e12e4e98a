import { expect, test } from "vitest";
import { renderLogLine } from "./readable-log.js";

const TIME = new Date(2026, 0, 2, 3, 4, 5).getTime();
const render = (fields: object): string => renderLogLine(`${JSON.stringify({ level: 40, time: TIME, ...fields })}\n`);

test("a line has the time, the level, the sentence and the fields", () => {
  expect(render({ msg: "listening", level: 30, host: "127.0.0.1", port: 8000 })).toBe(
    "03:04:05 INFO  listening (host 127.0.0.1, port 8000)\n",
  );
});

test("the stack of an error stands below, a line for each call", () => {
  const err = {
    type: "TypeError",
    message: "no",
    stack: "TypeError: no\n    at step (a.ts:1:2)\n    at run (b.ts:3:4)",
  };
  expect(render({ err, session: "1a2b", msg: "the environment failed in step" })).toBe(
    "03:04:05 WARN  the environment failed in step (session 1a2b)\n" +
      "    TypeError: no\n    at step (a.ts:1:2)\n    at run (b.ts:3:4)\n",
  );
});

test("what a field holds makes no line of its own, and no terminal obeys it", () => {
  expect(render({ msg: "dropped", name: "a\nb\u001b[2J\u202e" })).toBe(
    "03:04:05 WARN  dropped (name a b\\u001b[2J\\u202e)\n",
  );
});
