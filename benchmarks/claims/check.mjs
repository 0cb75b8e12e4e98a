/** Compares the figures of pages with the rows of reports. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { findFigures, findUnclaimed, renderLike } from "./pages.mjs";
import { evaluate, Reports } from "./rows.mjs";

/** A report is old when so many commits have changed the sources since. */
export const OLD_COMMITS = 150;
/** A quick measurement confirms a row if it differs by less than this part. */
const CONFIRMED = 0.15;
/** Two reports of the same comparison may differ by this part. */
const AGREEING = 0.25;

export function readClaims(root) {
  return parse(readFileSync(join(root, "benchmarks/claims/claims.yaml"), "utf8"));
}

/**
 * Checks all claims. `pages` are the paths of all pages, `commitsSince` counts the commits since one. Returns what is wrong,
 * what is old, and the text of each page with its figures as the rows have them.
 */
export function checkClaims({ root, claims: { claims, same, others }, pages, commitsSince, quick }) {
  const reports = new Reports(root);
  const checked = pages.map((page) => {
    const of = (all) => all.filter((one) => one.page === page);
    const text = readFileSync(join(root, page), "utf8");
    return { page, ...checkPage(text, { claims: of(claims), others: of(others), reports }) };
  });
  const unknown = [...claims, ...others].filter(({ page }) => !pages.includes(page));
  const named = new Set(claims.map(({ report }) => report));
  return {
    wrong: [
      ...checked.flatMap(({ page, wrong }) => wrong.map((problem) => `${page}: ${problem}`)),
      ...unknown.map(({ page }) => `${page} does not exist.`),
      ...same.flatMap((pair) => findContradiction(pair, reports)),
    ],
    old: [...named].flatMap((report) => {
      const rows = claims.filter((claim) => claim.report === report).flatMap((claim) => claim.rows);
      return findAge(report, { rows, reports, commitsSince, quick });
    }),
    texts: new Map(checked.map(({ page, text }) => [page, text])),
  };
}

function checkPage(text, { claims, others, reports }) {
  const wrong = [];
  const claimed = [];
  const edits = [];
  for (const { text: words, rows, report } of claims) {
    try {
      const found = findFigures(text, words);
      claimed.push(found);
      if (found.figures.length !== rows.length) throw new Error(`"${words}" needs one row for each {}`);
      for (const [index, { from, to, shown }] of found.figures.entries()) {
        const value = valueIn(rows[index], report, { reports, isPercent: /^\s?%/.test(text.slice(to)) });
        const expected = renderLike(shown, value);
        if (expected === shown) continue;
        wrong.push(`"${shown}" in "${words}" is ${expected} in the row "${rows[index]}" of ${report}.`);
        edits.push({ from, to, expected });
      }
    } catch (error) {
      wrong.push(`${error.message}.`);
    }
  }
  const unclaimed = findUnclaimed(text, claimed);
  for (const sentence of unclaimed) {
    if (!others.some((other) => sentence.includes(other.text))) wrong.push(`no claim for "${sentence}".`);
  }
  for (const other of others) {
    const count = unclaimed.filter((sentence) => sentence.includes(other.text)).length;
    if (count !== 1) wrong.push(`${count} sentences need "${other.text}" instead of one.`);
  }
  return { wrong, text: edits.toSorted((a, b) => b.from - a.from).reduce(replace, text) };
}

function findContradiction(pair, reports) {
  try {
    const [one, other] = pair.map((expression) => evaluate(expression, (name) => reports.rows(name)));
    if (differ(one, other) <= AGREEING) return [];
    throw new Error(`two reports contradict each other: ${one} and ${other}`);
  } catch (error) {
    return [`${pair.join(" and ")}: ${error.message}.`];
  }
}

/** A clone without history does not know the commit of a report, so the report may be old. */
function findAge(report, { rows, reports, commitsSince, quick }) {
  const commit = reports.fact(report, "commit");
  const count = commitsSince(commit);
  if (count <= OLD_COMMITS) return [];
  if (rows.every((row) => isConfirmed(row, report, { reports, commitsSince, quick }))) return [];
  const age =
    count === undefined ? "this clone does not have its commit" : `${count} commits have changed the sources since`;
  return [`${report}: ${age} ${commit}. To measure it again: ${reports.fact(report, "command")}`];
}

/** A ratio before a percent sign is shown in percent. */
export function valueIn(expression, report, { reports, isPercent = false }) {
  const value = evaluate(expression, (name) => reports.rows(name ?? report));
  return isPercent && expression.includes(" / ") ? 100 * value : value;
}

/** True when a quick measurement of a recent commit had nearly the same ratio. */
function isConfirmed(row, report, { reports, commitsSince, quick }) {
  const seen = quick[`${report} ${row}`];
  if (seen === undefined || !((commitsSince(seen.commit) ?? Infinity) <= OLD_COMMITS)) return false;
  return differ(seen.value, valueIn(row, report, { reports })) <= CONFIRMED;
}

function differ(one, other) {
  return Math.max(one, other) / Math.min(one, other) - 1;
}

function replace(text, { from, to, expected }) {
  return text.slice(0, from) + expected + text.slice(to);
}
