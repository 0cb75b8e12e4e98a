import { execFileSync } from "node:child_process";
import { ROOT } from "../../scripts/root.mjs";

/** The sources of all packages, without their tests: these change no figure. */
const SOURCES = [":(glob)packages/*/src/**", ":(exclude,glob)packages/*/src/**/*.test.*"];

/** The last commit that changed the sources of the packages: what a benchmark measures. A `+` stands for later changes. */
export function sourceCommit() {
  const isChanged = git("status", "--porcelain", "--", ...SOURCES) !== "";
  return git("log", "-1", "--format=%h", "--", ...SOURCES) + (isChanged ? "+" : "");
}

/** Counts the commits that have changed the sources since; undefined for a commit that this clone does not have. */
export function commitsSince(commit) {
  try {
    return Number(git("rev-list", "--count", `${commit}..HEAD`, "--", ...SOURCES));
  } catch {
    return undefined;
  }
}

function git(...args) {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}
