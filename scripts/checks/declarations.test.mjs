import { expect, test } from "vitest";
import { findProblems } from "./declarations.mjs";

const lines = (count) => Array.from({ length: count }, () => "  work();\n").join("");

test("a function of 80 lines is the longest", () => {
  expect(findProblems([["a.ts", `function work() {\n${lines(78)}}`]])).toEqual([]);
  expect(findProblems([["a.ts", `\nfunction work() {\n${lines(79)}}`]])).toEqual([
    "packages/a.ts:2 work has 81 lines; 80 is the limit.",
  ]);
});

test.each([
  ["const work = () => {", "}", "work"],
  ["class A { work() {", "} }", "work"],
  ["call(function () {", "})", "an anonymous function"],
])("the function of %s is measured", (begin, end, name) => {
  expect(findProblems([["a.ts", `${begin}\n${lines(80)}${end}`]])).toEqual([
    `packages/a.ts:1 ${name} has 82 lines; 80 is the limit.`,
  ]);
});

test("two exported types with one name are reported with their files", () => {
  const files = [
    ["a.ts", "export interface Point {}"],
    ["b.ts", "export class Point {}"],
    ["c.ts", "type Point = 1; export { type Point as Other } from './a.js';"],
  ];
  expect(findProblems(files)).toEqual(["Two exported types have the name Point: a.ts, b.ts"]);
});
