import { describe, expect, test } from "vitest";
import { Failures, patternOf } from "./failures.js";

const error = (message: string, at = 0) =>
  ({ at, code: "EXECUTION_ERROR", fault: "environment", message, session_id: "a", step: 1 }) as const;

describe("failures", () => {
  test.each([
    ["no room for 12 of 3.5", "no room for # of #"],
    ["Unknown tool \"search_web\". Use 'ls'.", "Unknown tool “…”. Use “…”."],
    ["the environment's step isn't 'ok'", "the environment's step isn't “…”"],
    ["ENOENT: /data/run-7/a.txt", "ENOENT: …"],
    ["session 3f2a9c1e-77aa is away", "session … is away"],
    ["a long-standing problem", "a long-standing problem"],
  ])("%s is counted as %s", (message, pattern) => {
    expect(patternOf(message)).toBe(pattern);
  });

  test("are counted by code and message without numbers and names, with the latest as example", () => {
    const failures = new Failures();
    for (let at = 0; at < 5000; at++) failures.add(error(`no room for ${at}`));
    failures.add(error("timed out"));
    expect(failures.all).toMatchObject([
      { message: "no room for #", count: 5000, example: "no room for 4999", session_id: "a", step: 1 },
      { message: "timed out", count: 1 },
    ]);
  });

  test("of any number of kinds are counted in bounded memory", () => {
    const failures = new Failures();
    const word = (at: number) => [...String(at)].map((digit) => "abcdefghij"[Number(digit)]).join("");
    for (let at = 0; at < 1000; at++) failures.add(error(word(at)));
    expect(failures.all).toHaveLength(101);
    expect(failures.all.reduce((sum, { count }) => sum + count, 0)).toBe(1000);
    expect(failures.all.at(-1)).toMatchObject({ message: "Other messages", count: 900 });
  });

  test("are counted by minute for an hour", () => {
    const failures = new Failures();
    for (const minute of [0, 1, 60, 60, 61]) failures.add(error("x", minute * 60));
    expect(failures.byMinute(61 * 60_000)).toEqual([...Array(58).fill(0), 2, 1]);
    expect(failures.byMinute(500 * 60_000)).toEqual(Array(60).fill(0));
  });
});
