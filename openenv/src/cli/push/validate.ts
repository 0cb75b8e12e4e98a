import { validatePackage } from "../validate/validate-package.js";

export interface ValidateBeforePushOptions {
  signal: AbortSignal;
  onProgress(line: string): void;
}

/** Enough to see that sessions are given back; `openenv validate` tries more. */
const ROUNDS = 10;

/** What keeps an environment from being published, as `openenv validate` says it; empty when nothing does. */
export async function findProblems(dir: string, { signal, onProgress }: ValidateBeforePushOptions): Promise<string[]> {
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
  if (report.verdict !== "fail") return [];
  return report.results
    .filter(({ status }) => status === "fail" || status === "error")
    .map(({ check_id, evidence, remediation }) => {
      return `${check_id}: ${evidence.join("; ")}${remediation ? `. To mend it: ${remediation}` : ""}`;
    });
}
