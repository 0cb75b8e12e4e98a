import type { Manifest } from "@openenv-ts/providers/manifest";
import type { Level, ValidationPolicy } from "./policy.js";

export type Status = "pass" | "fail" | "skip" | "error";
export type ReportVerdict = "pass" | "warn" | "fail";

/** What came of one check. `error`: it could not be made; that fails too. */
export interface Result {
  check_id: string;
  status: Status;
  measured: Record<string, unknown>;
  evidence: string[];
  remediation: string | null;
  /** Seconds. */
  duration_s: number;
  /** Ours: a skipped check with nothing to look at, as the package does not declare it. It is no warning. */
  not_applicable?: true;
}

/** What `openenv validate <dir>` tells, in the shape that every OpenEnv validator has. */
export interface PackageReport {
  report_schema_version: "1" | "2";
  target: string;
  /** SHA-256 (hex) over names and contents of the package's files. */
  source_digest: string;
  signature: "openenv.yaml";
  manifest: object | null;
  policy_version: string;
  lane: "local";
  levels_run: number[];
  results: Result[];
  verdict: ReportVerdict;
}

export const LEVEL_NUMBERS: Record<Level, number> = { static: 1, runtime: 2, semantic: 3 };

export function toResult(
  check_id: string,
  status: Status,
  evidence: readonly string[],
  more: Partial<Result> = {},
): Result {
  return { check_id, status, measured: {}, evidence: [...evidence], remediation: null, duration_s: 0, ...more };
}

/** Fails with one check that weighs so much or could not be made; warns of lighter ones and of what was skipped but applies. */
export function judge(results: readonly Result[], { severities }: ValidationPolicy): ReportVerdict {
  const fails = ({ check_id, status }: Result): boolean =>
    status === "error" || (status === "fail" && severities.get(check_id) === "fail");
  if (results.some(fails)) return "fail";
  return results.some((result) => result.status !== "pass" && !result.not_applicable) ? "warn" : "pass";
}

/** The manifest as validators pass it on: who the environment is, and what it declares. */
export function normalise({ name, version, validation }: Manifest): object | null {
  if (validation === undefined) return null;
  const { reward, judge, resources, task_distribution, network, capabilities, types, execution } = validation;
  return {
    manifest_schema_version: execution === undefined ? "1" : "2",
    name,
    version: version ?? null,
    signature: "openenv.yaml",
    reward: { ...reward, variance_tolerance: reward.variance_tolerance ?? null },
    judge: judge ?? null,
    resources,
    task_distribution: task_distribution ?? null,
    network,
    capabilities: {
      ...capabilities,
      oracle: capabilities.oracle ?? null,
      verifier: { ...capabilities.verifier, entry: capabilities.verifier.entry ?? null },
      canaries: capabilities.canaries ?? null,
    },
    types,
    ...(execution !== undefined && { execution }),
  };
}

export function renderPackageReport(report: PackageReport): string {
  const { target, policy_version, levels_run, results, verdict } = report;
  const names = Object.entries(LEVEL_NUMBERS).flatMap(([name, number]) => (levels_run.includes(number) ? [name] : []));
  const lines = results
    .filter(({ status }) => status !== "skip")
    .flatMap(({ check_id, status, evidence, remediation, duration_s }) => [
      `  ${status.toUpperCase().padEnd(5)} ${check_id} (${duration_s.toFixed(2)} s)`,
      ...(status === "pass" ? [] : evidence.map((line) => `        ${line}`)),
      ...(status !== "pass" && remediation ? [`        to mend it: ${remediation}`] : []),
    ]);
  return [
    `${target} (openenv.yaml, policy ${policy_version}, levels ${names.join(", ")})`,
    ...lines,
    ...renderSkipped(
      "SKIP",
      results.filter((result) => result.status === "skip" && !result.not_applicable),
    ),
    ...renderSkipped(
      "N/A",
      results.filter((result) => result.not_applicable),
    ),
    `Verdict: ${verdict.toUpperCase()}`,
  ].join("\n");
}

/** One line for each reason. */
function renderSkipped(label: string, results: readonly Result[]): string[] {
  const byReason = new Map<string, string[]>();
  for (const { check_id, evidence } of results) {
    const reason = evidence.join(" ");
    byReason.set(reason, [...(byReason.get(reason) ?? []), check_id]);
  }
  return [...byReason].map(([reason, ids]) => `  ${label.padEnd(5)} ${ids.join(", ")}: ${reason}`);
}
