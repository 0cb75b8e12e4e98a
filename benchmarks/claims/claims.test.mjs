import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkClaims } from "./check.mjs";
import { findFigures, findUnclaimed, renderLike } from "./pages.mjs";
import { isKept } from "./quick.mjs";

const CSV = ["row,unit,round,subject,value", "steps,per CPU-second,1,ours,4000", "steps,per CPU-second,2,ours,4200"];
const PYTHON = ["steps,per CPU-second,1,python,1000", "steps,per CPU-second,2,python,1000"];
const CLAIM = { page: "README.md", report: "one", text: "{} times the steps", rows: ["steps: ours / python"] };

let root;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "openenv-claims-"));
  write("README.md", "One server has 4.1 times the\nsteps of Python.\n");
  for (const name of ["one", "two"]) {
    write(`benchmarks/results/${name}.csv`, [...CSV, ...PYTHON].join("\n"));
    write(
      `benchmarks/reports/${name.toUpperCase()}.md`,
      "# One\n\n- commit: abc1234\n- command: `npm run bench -- one`\n",
    );
  }
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path, text) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const check = ({ claims = [CLAIM], same = [], others = [], since = 10, quick = {} } = {}) =>
  checkClaims({ root, claims: { claims, same, others }, pages: ["README.md"], commitsSince: () => since, quick });

test("a page whose figures are those of the rows passes, whatever its line breaks are", () => {
  const same = [["one steps: ours / python", "two steps: ours / python"]];
  expect(check({ same })).toMatchObject({ wrong: [], old: [] });
});

describe("a contradiction is found:", () => {
  test("a figure of a page that was changed, which --write corrects", () => {
    write("README.md", "One server has 5.1 times the steps of Python.\n");
    const { wrong, texts } = check();
    expect(wrong).toEqual([
      'README.md: "5.1" in "{} times the steps" is 4.1 in the row "steps: ours / python" of one.',
    ]);
    expect(texts.get("README.md")).toBe("One server has 4.1 times the steps of Python.\n");
  });

  test("a row that was measured again", () => {
    write("benchmarks/results/one.csv", [...CSV, ...PYTHON.map((line) => line.replace("1000", "2000"))].join("\n"));
    expect(check().wrong).toEqual([
      'README.md: "4.1" in "{} times the steps" is 2.0 in the row "steps: ours / python" of one.',
    ]);
  });

  test("a row or a subject that does not exist any more", () => {
    write("benchmarks/results/one.csv", CSV.join("\n"));
    expect(check().wrong).toEqual(['README.md: the row "steps" has no subject "python".']);
    const claim = { ...CLAIM, rows: ["sessions: ours"] };
    expect(check({ claims: [claim] }).wrong).toEqual(['README.md: there is no row "sessions".']);
  });

  test("two reports of the same comparison", () => {
    write("benchmarks/results/two.csv", [...CSV, ...PYTHON.map((line) => line.replace("1000", "2000"))].join("\n"));
    const same = [["one steps: ours / python", "two steps: ours / python"]];
    expect(check({ same }).wrong).toEqual([
      "one steps: ours / python and two steps: ours / python: two reports contradict each other: 4.1 and 2.05.",
    ]);
  });

  test("a result in a page that no row has", () => {
    write("README.md", "One server has 4.1 times the steps of Python. Two servers serve 9 times the sessions.\n");
    expect(check().wrong).toEqual(['README.md: no claim for "Two servers serve 9 times the sessions.".']);
    const others = [{ page: "README.md", text: "9 times", is: "an experiment" }];
    expect(check({ others }).wrong).toEqual([]);
    expect(check({ others: [...others, { ...others[0], text: "8 times" }] }).wrong).toEqual([
      'README.md: 0 sentences need "8 times" instead of one.',
    ]);
  });

  test("a claim whose text is not in the page", () => {
    write("README.md", "Nothing was measured.\n");
    expect(check().wrong).toEqual(['README.md: has the text "{} times the steps" 0 times instead of once.']);
  });
});

test("a report is old after 150 commits, unless a quick run of a recent commit had the same ratio within 15 %", () => {
  expect(check({ since: 150 }).old).toEqual([]);
  const [old] = check({ since: 151 }).old;
  expect(old).toBe(
    "one: 151 commits have changed the sources since abc1234. To measure it again: `npm run bench -- one`",
  );
  const quickOf = (value) => ({ "one steps: ours / python": { commit: "def5678", value } });
  const since = (commit) => (commit === "abc1234" ? 400 : 3);
  const again = (quick) =>
    checkClaims({
      root,
      claims: { claims: [CLAIM], same: [], others: [] },
      pages: ["README.md"],
      commitsSince: since,
      quick,
    });
  expect(again(quickOf(3.7)).old).toEqual([]);
  expect(again(quickOf(3.5)).old).toHaveLength(1);
  expect(check({ since: 151, quick: quickOf(4.1) }).old).toHaveLength(1);
  const [unknown] = checkClaims({
    ...{ root, claims: { claims: [CLAIM], same: [], others: [] }, pages: ["README.md"] },
    ...{ commitsSince: () => undefined, quick: {} },
  }).old;
  expect(unknown).toMatch(/^one: this clone does not have its commit abc1234\./);
});

test("a headline needs half of its advantage, above or below 1", () => {
  expect([2, 1.9, undefined].map((now) => isKept({ now, reported: 4 }))).toEqual([true, false, false]);
  expect([0.2, 0.21].map((now) => isKept({ now, reported: 0.1 }))).toEqual([true, false]);
});

test("figures keep their decimals, and have commas", () => {
  expect([renderLike("4.0", 3.96), renderLike("12", 12345.6), renderLike("0.09", 0.0875)]).toEqual([
    "4.0",
    "12,346",
    "0.09",
  ]);
  const { figures } = findFigures("| steps | 66,170 | 0.96 |", "| steps | {} | {} |");
  expect(figures.map(({ shown }) => shown)).toEqual(["66,170", "0.96"]);
});

test("limits, defaults, code and links are no results", () => {
  const page = "A call may take 30 s. [Measured](report-12-ms.md).\n\n```sh\nsleep 3 # 4 times the time\n```\n";
  expect(findUnclaimed(page, [])).toEqual([]);
});
