/** Rules about single files: length, number of scripts, ways around the type checker, paths of one machine, and plain English. */
import { readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, sep } from "node:path";
import { findMissing, findUnverified, LOCK_FILES } from "../platforms.mjs";
import { ROOT } from "../root.mjs";

const LONG = 250;
const TOO_LONG = 400;
const MOST_SCRIPTS = 12;
const GENERATED = ["node_modules", "dist", ".git", ".cache", ".openenv", "coverage", "__pycache__"];
const CODE = /\.(ts|tsx|mjs|js|py)$/;
const TEXT = /\.(ts|tsx|mjs|js|py|md|json|ya?ml|toml|sh|html|css|cfg)$|\/run$|Dockerfile$/;
const NEVER = {
  "turns a type rule off": /biome-ignore[^\n]*noExplicitAny|@ts-ignore|@ts-nocheck/,
  "runs one test only": /\b(?:test|it|describe)\.only\(/,
};
const MACHINE = {
  "names a path of one machine": new RegExp(
    [ROOT, homedir()]
      .filter((path) => path.split(sep).length > 2)
      .map(quote)
      .concat("/(?:home|Users)/\\w+/", "[\"' =]/(?:root|tmp)/")
      .join("|"),
  ),
  "carries the address of a registry": /"resolved": "https?:/,
};
/** Phrases that are not plain English, by what to write instead. Tests and quoted input are not checked. */
const PHRASES = {
  "a string": /\bmust be a text\b/i,
  "a positive (non-negative) integer": /\bwhole number from\b|\bfrom \d+ on\b/i,
  "gets, receives, is notified": /\b(?:am|is|are|was|were|be|been) told\b/i,
  "fix, coerce": /\bmend(?:s|ed|ing)?\b/i,
  "any client that, the caller": /\bwhoever\b/i,
  "next to, in addition to": /\bbeside\b/i,
  "is not valid, is not one": /(?<!\bthere )\b(?:is|are) none\b/i,
  "is not a, is not an":
    /(?<!\bthere )\b(?:is|are) no (?:JSON|URL|boolean|error|file|folder|function|name|number|object|promise|string|text)\b/i,
  continues: /\b(?:connection|episode|process|server|session|socket|step) goes on\b/i,
  "was cancelled": /\b(?:is|are|was|were|be|been) given up\b/i,
  "the request": /\basked of (?:it|them)\b/i,
  "check against": /\b(?:held|hold|holds) (?:\w+ )?against\b/i,
  "still, anyway": /\ball the same\b|\bnevertheless\b/i,
};
/** The files whose language is checked. Tests, generated pages and the recorded contract of the Python package are not. */
const PLAIN =
  /^(?:packages|test-support|envs|examples|benchmarks|scripts)\/[^.]*\.(?:ts|tsx|mjs|md|yaml)$|^docs\/(?!reference\/(?:api|manifest|wire)\.md).*\.md$|^(?:README|CONTRIBUTING)\.md$/;
const WORDING = Object.fromEntries(
  Object.entries(PHRASES).map(([plain, pattern]) => [`is not plain English (write: ${plain})`, pattern]),
);

if (process.argv[1] === import.meta.filename) {
  for (const file of [...LOCK_FILES, "packages/cli/templates/env/package-lock.json"]) {
    const lock = JSON.parse(readFileSync(join(ROOT, file), "utf8"));
    const missing = findMissing(lock).map(({ name }) => `${file} has no row for ${name}: npm run format`);
    const unverified = findUnverified(lock).map((path) => `${file} has no integrity for ${path}: npm run format`);
    for (const problem of [...missing, ...unverified]) {
      process.stdout.write(`${problem}\n`);
      process.exitCode = 1;
    }
  }
  for (const file of list()) {
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const problem of judge(file, text)) {
      process.stdout.write(`${problem}\n`);
      process.exitCode = 1;
    }
    const lines = countLines(text);
    if (CODE.test(file) && lines > LONG && lines <= TOO_LONG)
      process.stdout.write(`note: ${file} has ${lines} lines\n`);
  }
}

/** The sentences about what is wrong with one file. */
export function judge(file, text) {
  const problems = [];
  const lines = countLines(text);
  if (CODE.test(file) && lines > TOO_LONG) problems.push(`${file} has ${lines} lines; ${TOO_LONG} is the limit.`);
  const scripts = file === "package.json" ? Object.keys(JSON.parse(text).scripts).length : 0;
  if (scripts > MOST_SCRIPTS) problems.push(`${file} has ${scripts} scripts; ${MOST_SCRIPTS} is the limit.`);
  const rules = { ...(CODE.test(file) ? NEVER : {}), ...MACHINE, ...(PLAIN.test(file) ? WORDING : {}) };
  for (const [what, pattern] of Object.entries(rules)) {
    const found = pattern.exec(text);
    if (found) problems.push(`${file}:${text.slice(0, found.index).split("\n").length} ${what}: ${found[0].trim()}`);
  }
  return problems;
}

function list() {
  const walk = (dir) =>
    readdirSync(join(ROOT, dir), { withFileTypes: true }).flatMap((entry) => {
      const path = dir ? `${dir}/${entry.name}` : entry.name;
      if (entry.isDirectory()) return GENERATED.includes(entry.name) ? [] : walk(path);
      return entry.isFile() && TEXT.test(path) && path !== "scripts/checks/files.mjs" ? [path] : [];
    });
  return walk("").sort();
}

function countLines(text) {
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

function quote(path) {
  return path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
