import { validatePackage } from "../validate/validate-package.js";

export interface ValidateBeforePushOptions {
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
  { signal, onProgress }: ValidateBeforePushOptions,
): Promise<Validated> {
  const report = await validatePackage(dir, {
    level: "runtime",
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
  return { passed: report.verdict !== "fail", problems };
}
