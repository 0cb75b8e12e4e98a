/** Checks the subjects of commits, as CONTRIBUTING.md describes them. */
import { spawnSync } from "node:child_process";
import { ROOT } from "../root.mjs";

/** The last commit whose subject was not checked. */
const BASE = "45b4237d";
const LIMIT = 72;
const FORM = /^(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([\w-]+\))?!?: ([^\s,]+)/;
/** Verbs that end like another form of a word. */
const VERBS =
  /^(?:access|address|bypass|compress|discuss|embed|expose|bring|express|feed|focus|miss|need|pass|ping|process|seed|shed|speed)$/;

if (process.argv[1] === import.meta.filename) {
  const subjects = readSubjects();
  const problems = subjects.flatMap(judge);
  if (subjects.length === 0) process.stdout.write("note: no commit was checked: the history is not here\n");
  process.stdout.write(problems.map((problem) => `${problem}\n`).join(""));
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The sentences about what is wrong with a subject. */
export function judge(subject) {
  if (/^Merge /.test(subject)) return [];
  const [, verb] = FORM.exec(subject) ?? [];
  return [
    ...(subject.length > LIMIT ? [`has ${subject.length} characters, ${LIMIT} is the limit`] : []),
    ...(verb === undefined ? ["is not `type(scope): imperative subject`"] : []),
    ...(verb !== undefined && !isImperative(verb) ? [`does not begin with a verb in the imperative: "${verb}"`] : []),
    ...(subject.includes(";") ? ["joins two changes"] : []),
  ].map((problem) => `The commit "${subject}" ${problem}.`);
}

/** "add" and not "adds", "added", "adding" or "the". */
function isImperative(word) {
  return (
    VERBS.test(word) || (/^[a-z][a-z-]*[a-z]$/.test(word) && !/(?:s|ed|ing)$|^(?:an?|the|no|one|some|all)$/.test(word))
  );
}

/** The subjects since the base; of a shallow clone only the last. */
function readSubjects() {
  const log = (range) => spawnSync("git", ["log", "--format=%s", ...range], { cwd: ROOT, encoding: "utf8" });
  const all = log([`${BASE}..HEAD`]);
  const { status, stdout } = all.status === 0 ? all : log(["-1"]);
  return status === 0 ? stdout.split("\n").filter(Boolean) : [];
}
