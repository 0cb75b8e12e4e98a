import { validatePackage } from "../validate/validate-package.js";

export interface ValidateBeforePushOptions {
  /** What the author requires: the last level of the checks. */
  level: "runtime" | "semantic";
  signal: AbortSignal;
  onProgress(line: string): void;
}

/** Enough to detect sessions that are not released; `openenv validate` uses more. */
const ROUNDS = 10;

export interface Validated {
  /** False: the environment must not be published. */
  passed: boolean;
  /** Failed checks, as `openenv validate` reports them. */
  problems: string[];
}

/** Validates an environment before it is published. */
export async function validateForPush(
  dir: string,
  { level, signal, onProgress }: ValidateBeforePushOptions,
): Promise<Validated> {
  const report = await validatePackage(dir, {
    level,
    isRequested: level === "semantic",
    policy: undefined,
    skipBuild: true,
    actions: undefined,
    ignore: [],
    leaveOut: [],
    rounds: ROUNDS,
    signal,
    onProgress,
  });
  signal.throwIfAborted();
  const problems = report.results
    .filter(({ status }) => status === "fail" || status === "error")
    .map(({ check_id, evidence, remediation }) => {
      return `${check_id}: ${evidence.join("; ")}${remediation ? `. To fix: ${remediation}` : ""}`;
    });
  const unknown = report.unknown ?? [];
  if (unknown.length > 0) problems.push(`unknown: ${unknown.join(", ")}. To fix: declare what these checks need`);
  return { passed: report.verdict !== "fail" && unknown.length === 0, problems };
}
