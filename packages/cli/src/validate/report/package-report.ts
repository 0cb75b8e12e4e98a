import type { Manifest } from "@openenv-ts/providers/manifest";
import type { Level, ValidationPolicy } from "./policy.js";

export type Status = "pass" | "fail" | "skip" | "error";
export type ReportVerdict = "pass" | "warn" | "fail";

/** The result of one check. `error` means that the check could not run, which fails the report. */
export interface Result {
  check_id: string;
  status: Status;
  measured: Record<string, unknown>;
  evidence: string[];
  remediation: string | null;
  /** Seconds. */
  duration_s: number;
  /** Our extension: the check was skipped because the package does not declare what it checks. Not a warning. */
  not_applicable?: true;
}

/** The report of `openenv validate <dir>`, in the format of every OpenEnv validator. */
export interface PackageReport {
  report_schema_version: "1" | "2";
  target: string;
  /** SHA-256 (hex) of the names and contents of the package's files. */
  source_digest: string;
  signature: "openenv.yaml";
  manifest: object | null;
  policy_version: string;
  lane: "local";
  levels_run: number[];
  results: Result[];
  verdict: ReportVerdict;
  /** Our extension: the semantic checks that apply and could not be made. Present if the level was requested. */
  unknown?: string[];
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

/**
 * `fail` if a check with severity `fail` failed or any check could not run; `warn` for other failures and for skipped
 * checks that apply.
 */
export function judge(results: readonly Result[], { severities }: ValidationPolicy): ReportVerdict {
  const fails = ({ check_id, status }: Result): boolean =>
    status === "error" || (status === "fail" && severities.get(check_id) === "fail");
  if (results.some(fails)) return "fail";
  return results.some((result) => result.status !== "pass" && !result.not_applicable) ? "warn" : "pass";
}

/** The manifest in the format of reports: the identity of the environment, and what it declares. */
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
      ...(status !== "pass" && remediation ? [`        to fix: ${remediation}`] : []),
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
    renderVerdict(verdict, report.unknown),
  ].join("\n");
}

export function renderVerdict(verdict: string, unknown: readonly string[] = []): string {
  const isUnknown = unknown.length > 0 && verdict !== "fail";
  return `Verdict: ${isUnknown ? `UNKNOWN: ${unknown.join(", ")}` : verdict.toUpperCase()}`;
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
