import { validatePackage } from "../validate/validate-package.js";

export interface ValidateBeforePushOptions {
  signal: AbortSignal;
  onProgress(line: string): void;
}

/** Enough to see that sessions are given back; `openenv validate` tries more. */
const ROUNDS = 10;

export interface Validated {
  /** False: it is not fit to be published. */
  passed: boolean;
  /** What is wrong with it all the same, as `openenv validate` says it. */
  problems: string[];
}

/** Validates an environment that is about to be published. */
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
      return `${check_id}: ${evidence.join("; ")}${remediation ? `. To mend it: ${remediation}` : ""}`;
    });
  return { passed: report.verdict !== "fail", problems };
}
