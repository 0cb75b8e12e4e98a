import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { loadDivergences } from "./replay/divergences.js";
import { loadRecordings } from "./replay/load.js";
import { SCENARIOS } from "./replay/scenarios.js";
import { SPECIALS } from "./replay/specials.js";
import { findTestProblem, readTestTitles } from "./test-titles.js";

const CONTRACT = "docs/reference/wire.md";
/** Number of sections of the contract. */
const SECTIONS = 18;
/** Number of defects of the reference in section 17. */
const DEFECTS = 24;

interface Requirement {
  id: string;
  source: string;
  promise: string;
  proof?: string[];
  reason?: string;
}

const ROOT = join(import.meta.dirname, "..");
const requirements = parse(readFileSync(join(import.meta.dirname, "requirements.yaml"), "utf8")) as Requirement[];
const divergences = loadDivergences();
const cases = new Set(loadRecordings().map((row) => row.case));

describe("requirements.yaml", () => {
  test.each(requirements)("$id has proofs or a reason", ({ proof = [], reason = "" }) => {
    expect(proof.length > 0, "either proofs or a reason").toBe(reason === "");
    expect(proof.flatMap(findProblem)).toEqual([]);
  });

  test("covers every section of the contract", () => {
    const found = new Set(requirements.map(({ source }) => Number(/^contract §(\d+)/.exec(source)?.[1])));
    expect([...found].sort((a, b) => a - b)).toEqual(Array.from({ length: SECTIONS }, (_, i) => i + 1));
  });

  test("only refers to sections that exist", () => {
    const contract = readFileSync(join(ROOT, CONTRACT), "utf8");
    const sections = [...contract.matchAll(/^###? (\d+(?:\.\d+)?)\.? /gm)].map(([, number]) => number);
    const defects = [...(/^## 17\.([\s\S]*?)^## /m.exec(contract)?.[1] ?? "").matchAll(/^(\d+)\. /gm)];
    const known = new Set([...sections, ...defects.map(([, number]) => `17.${number}`)]);
    const named = requirements.flatMap(({ source }) => [...source.matchAll(/§([\d.]+\d|\d)/g)].map(([, name]) => name));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
    expect(defects).toHaveLength(DEFECTS);
  });

  test("and divergences.yaml cover every defect of the reference", () => {
    const sources = [...requirements, ...divergences].map(({ source }) => source).join();
    const missing = Array.from({ length: DEFECTS }, (_, i) => `§17.${i + 1}`).filter(
      (defect) => !new RegExp(`${defect}(?!\\d)`).test(sources),
    );
    expect(missing).toEqual([]);
  });

  test("has a promise or a divergence for every recorded case", () => {
    const named = new Set([
      ...requirements.flatMap(({ proof = [] }) => proof.map((one) => one.replace("transcripts: ", ""))),
      ...divergences.flatMap(({ cases: shown = [] }) => shown),
    ]);
    expect([...cases].filter((name) => !named.has(name))).toEqual([]);
  });
});

describe("divergences.yaml", () => {
  test.each(divergences)("$id has a recorded case or a test", (divergence) => {
    const { cases: shown = [], proof = [], expect: patch, reference, ours, why } = divergence;
    expect([reference, ours, why]).toEqual([expect.any(String), expect.any(String), expect.any(String)]);
    expect(shown.length + proof.length).toBeGreaterThan(0);
    expect(shown.filter((name) => !cases.has(name))).toEqual([]);
    expect(shown.length > 0).toBe(patch !== undefined);
    expect(proof.flatMap(findProblem)).toEqual([]);
  });
});

test("no id is used twice", () => {
  const ids = [...requirements, ...divergences].map(({ id }) => id);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
});

test("every scenario has a recorded case", () => {
  const names = [...Object.keys(SCENARIOS), ...Object.keys(SPECIALS)];
  expect(names.filter((name) => !cases.has(name))).toEqual([]);
});

test("a proof is the title of a test that runs, not any text in its file", () => {
  const code = `
    // it("in a comment", () => {});
    const unused = "in a variable";
    describe("group", () => {
      it.each([["row", 1]])("of %s", () => expect("in a body").toBe(1));
      it.skipIf(windows)(\`made of \${parts}\`, () => {});
      it.skip("left out", () => {});
      it.todo("to come");
    });
    describe.skip("closed group", () => {
      it("inside it", () => {});
    });`;
  expect(readTestTitles("sample.test.ts", code)).toEqual(["group", "of %s", "row", "made of ", ""]);
});

/** The problem of a proof, if any. */
function findProblem(proof: string): string[] {
  const recorded = /^transcripts: (.+)$/.exec(proof)?.[1];
  if (recorded !== undefined) return cases.has(recorded) ? [] : [`no recorded case ${recorded}`];
  const [file = "", name = ""] = proof.split(" > ");
  return findTestProblem(file, name);
}
