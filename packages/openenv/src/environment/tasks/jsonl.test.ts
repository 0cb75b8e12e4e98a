import fc from "fast-check";
import pino from "pino";
import { describe, expect, test } from "vitest";
import { EnvironmentError } from "../../errors.js";
import { parseJsonl } from "./jsonl.js";
import type { TaskList } from "./task-lists.js";

const all = (list: TaskList) => Array.from({ length: list.length }, (_, index) => list.at(index));
const bytes = (text: string) => new TextEncoder().encode(text);

describe("JSON lines", () => {
  test.each([
    ["", []],
    ["\n \n\t\r\n", []],
    ['{"a":1}', [{ a: 1 }]],
    ['{"a":1}\n{"a":2}\n', [{ a: 1 }, { a: 2 }]],
    ['\ufeff{"a":"é😀"}\r\n\r\n  {"a":2}', [{ a: "é😀" }, { a: 2 }]],
  ])("%j are tasks", (text, tasks) => {
    expect(all(parseJsonl(text))).toEqual(tasks);
    expect(all(parseJsonl(bytes(text)))).toEqual(tasks);
  });

  test("survive a round trip", () => {
    fc.assert(
      fc.property(fc.array(fc.dictionary(fc.string(), fc.jsonValue())), (tasks) => {
        const text = tasks.map((task) => JSON.stringify(task)).join("\n");
        expect(JSON.stringify(all(parseJsonl(text)))).toBe(JSON.stringify(JSON.parse(JSON.stringify(tasks))));
      }),
    );
  });

  test("support negative indexes as arrays do, and are undefined outside the range", () => {
    const list = parseJsonl('{"a":1}\n{"a":2}');
    expect([list.at(-1), list.at(2), list.at(-3), parseJsonl("").at(0), parseJsonl("").at(-1)]).toEqual([
      { a: 2 },
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test.each([
    ["broken JSON", '{"a":1}\n\n{"a":', "train.jsonl, line 3: not valid JSON"],
    ["a list", '\r\n{"a":1}\r\n[1]\r\n', "train.jsonl, line 3: not a JSON object"],
    ["a string", '"text"', "train.jsonl, line 1: not a JSON object"],
    ["deep nesting", `{"a":1}\n${"[".repeat(3000)}${"]".repeat(3000)}`, "train.jsonl, line 2: nested deeper than"],
  ])("that are invalid are named by their line on access: %s", (_, text, message) => {
    const list = parseJsonl(text, "train.jsonl");
    expect(() => all(list)).toThrow(message);
    expect(() => all(list)).toThrow(EnvironmentError);
  });

  test.each([
    ["{oops", /^train\.jsonl, line 1: not valid JSON: ([^:]+)$/],
    ["[".repeat(3000), /^train\.jsonl, line 1: (nested deeper than \d+ levels)$/],
  ])("that are invalid have their reason once in the log: %#", (text, message) => {
    const lines: string[] = [];
    const log = pino({}, { write: (line) => lines.push(line) });
    try {
      parseJsonl(text, "train.jsonl").at(0);
    } catch (err) {
      log.error({ err });
    }
    const { err } = JSON.parse(lines[0] ?? "") as { err: { message: string; stack: string } };
    const [, reason = ""] = message.exec(err.message) ?? [];
    expect(reason).not.toBe("");
    expect(err.stack.split(reason)).toHaveLength(2);
  });

  test("that are not UTF-8 are named by their line", () => {
    const broken = bytes('{"a":1}\n{"a":"x"}');
    broken[14] = 0xff;
    const list = parseJsonl(broken);
    expect(list.at(0)).toEqual({ a: 1 });
    expect(() => list.at(1)).toThrow("the tasks, line 2: not valid UTF-8");
  });

  test("are read once, on first use, and an invalid line does not affect the others", () => {
    let read = 0;
    const list = parseJsonl(() => {
      read++;
      return bytes('{"a":1}\nbroken\n{"a":3}');
    });
    expect(read).toBe(0);
    expect([list.length, list.at(0), list.at(2)]).toEqual([3, { a: 1 }, { a: 3 }]);
    expect(read).toBe(1);
  });

  test("with many tasks are found by index", () => {
    const count = 5000;
    const list = parseJsonl(Array.from({ length: count }, (_, id) => JSON.stringify({ id })).join("\n"));
    expect(list.length).toBe(count);
    for (const index of [0, 1023, 1024, 1025, 4999]) expect(list.at(index)).toEqual({ id: index });
  });

  test("are a new object on each access", () => {
    const list = parseJsonl('{"a":[1]}');
    Object.assign(list.at(0) ?? {}, { a: 2 });
    expect(list.at(0)).toEqual({ a: [1] });
  });
});
