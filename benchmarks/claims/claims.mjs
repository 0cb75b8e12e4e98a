/**
 * `npm run claims`: checks that each figure in README.md and docs/ is that of a row in benchmarks/results, as claims.yaml says,
 * and that reports do not contradict each other.
 * Options: --write (writes the figures into the pages), --release (an old report is an error), --quick (measures the
 * headlines as ratios and fails below half of them; with --write it also keeps these ratios in results/quick.json).
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../../scripts/root.mjs";
import { setup } from "../../scripts/setup.mjs";
import { commitsSince, sourceCommit } from "../harness/commit.mjs";

const QUICK = join(ROOT, "benchmarks/results/quick.json");
const PAGES = [
  "README.md",
  "SECURITY.md",
  "docs/*.md",
  "docs/design",
  "docs/guide",
  "docs/reference",
  "python/README.md",
  "envs/*/README.md",
];

const { values: options } = parseArgs({
  options: { write: { type: "boolean" }, release: { type: "boolean" }, quick: { type: "boolean" } },
});
await setup();
const { checkClaims, readClaims } = await import("./check.mjs");
const { isKept, measureQuick } = await import("./quick.mjs");
const claims = readClaims(ROOT);
const problems = options.quick ? measure() : check();
process.stdout.write(problems.map((problem) => `${problem}\n`).join(""));
process.exitCode = problems.length > 0 ? 1 : 0;

function check() {
  const listed = execFileSync("git", ["ls-files", "-z", "--", ...PAGES], { cwd: ROOT, encoding: "utf8" }).split("\0");
  const pages = listed.filter((path) => path.endsWith(".md"));
  const quick = existsSync(QUICK) ? JSON.parse(readFileSync(QUICK, "utf8")) : {};
  const { wrong, old, texts } = checkClaims({ root: ROOT, claims, pages, commitsSince, quick });
  if (options.write) for (const [page, text] of texts) writeFileSync(join(ROOT, page), text);
  if (!options.release) process.stdout.write(old.map((line) => `note: ${line}\n`).join(""));
  return options.release ? [...wrong, ...old] : wrong;
}

function measure() {
  const measured = measureQuick({ root: ROOT, claims: claims.claims });
  for (const { row, now, reported } of measured)
    process.stdout.write(`${row}: ${show(now)}, in the report ${show(reported)}\n`);
  if (options.write) {
    const commit = sourceCommit();
    const seen = measured.filter(({ now }) => now !== undefined);
    const kept = seen.map(({ row, now }) => [row, { commit, value: Number(now.toPrecision(3)) }]);
    writeFileSync(QUICK, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
  }
  return measured
    .filter((one) => !isKept(one))
    .map(({ row }) => `${row}: less than half of the report's advantage is left.`);
}

function show(value) {
  return value === undefined ? "not measured" : value.toPrecision(3);
}
