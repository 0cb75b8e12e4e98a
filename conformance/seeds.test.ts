/** Each row of docs/reference/seeds.md ends with its proof: tests, promises, code of a page, or the reason why it has none. */
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { findTestProblem } from "./test-titles.js";

const ROOT = join(import.meta.dirname, "..");
const PAGE = "docs/reference/seeds.md";
const REASON = /^(?:No|Not yet): \w[\s\S]{15,}\.$/;
const page = readFileSync(join(ROOT, PAGE), "utf8");
const rows = readRows(page);

test.each(rows)("$source", ({ proof }) => {
  expect(findProblems(proof)).toEqual([]);
});

test("each source has the commit at which it was read", () => {
  const [, table = ""] = /^\| source \| commit \|\n\|.*\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const sources = table.trim().split("\n");
  expect(sources.length).toBeGreaterThan(3);
  expect(sources.filter((line) => !/\| `[0-9a-f]{12}`[^|]*\|$/.test(line))).toEqual([]);
});

test.each([
  ["", "neither a proof nor a reason"],
  ["No: hard.", "neither a proof nor a reason"],
  ["[no such title](../../conformance/promises.test.ts)", 'no test "no such title"'],
  ["[any title](../../conformance/none.test.ts)", "no test file"],
  ["[no.such.id](../../conformance/requirements.yaml)", "no.such.id has no proof"],
  ["[config.client](../../conformance/requirements.yaml)", "config.client has no proof"],
  ["[none.ts](../guide/clients.md)", "runs no none.ts"],
  ["[messages](../../benchmarks/results/study.csv)", "has no row messages"],
  ["[clients](../guide/clients.md)", "is not a proof"],
])("the proof %j has the problem: %s", (proof, problem) => {
  expect(findProblems(proof)[0]).toContain(problem);
});

/** The rows of all tables whose last column is called proof. */
function readRows(text: string): { source: string; proof: string }[] {
  const tables = text.matchAll(/^\|.*\| proof \|\n\|[-|]+\|\n((?:\|.*\n)+)/gm);
  return [...tables]
    .flatMap(([, lines = ""]) => lines.trim().split("\n"))
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .map((cells) => ({ source: cells[1] ?? "", proof: cells.length === 5 ? (cells[3] ?? "") : "" }));
}

function findProblems(proof: string): string[] {
  if (REASON.test(proof)) return [];
  const links = [...proof.matchAll(/\[([^\]]*)\]\(([^)]+)\)/g)];
  if (links.length === 0) return ["neither a proof nor a reason"];
  return links.flatMap(([, text = "", target = ""]) => findProblem(text, posix.join(posix.dirname(PAGE), target)));
}

function findProblem(text: string, path: string): string[] {
  if (/\.test\.m?[jt]s$/.test(path)) return findTestProblem(path, text);
  if (!existsSync(join(ROOT, path))) return [`there is no ${path}`];
  const content = readFileSync(join(ROOT, path), "utf8");
  if (path.endsWith(".yaml")) {
    const promises = parse(content) as { id: string; proof?: string[]; cases?: string[] }[];
    const found = promises.find(({ id }) => id === text);
    return found?.proof || found?.cases ? [] : [`${text} has no proof in ${path}`];
  }
  if (path.endsWith(".csv")) return content.includes(`\n${text},`) ? [] : [`${path} has no row ${text}`];
  if (!/^[\w-]+\.(?:ts|py)$/.test(text)) return [`${text} is not a proof`];
  return content.includes(` file=${text} run`) ? [] : [`${path} runs no ${text}`];
}
