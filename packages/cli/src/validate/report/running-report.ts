import type { Check, ServerReport } from "openenv-ts/testing";
import { renderVerdict } from "./package-report.js";

/** The report of `openenv validate --url`, in the format of every OpenEnv validator. */
export interface RunningReport {
  target: string;
  validation_type: "running_environment";
  standard_version: string;
  standard_profile: string;
  mode: string;
  passed: boolean;
  summary: {
    passed_count: number;
    total_count: number;
    failed_criteria: string[];
    required_passed_count: number;
    required_total_count: number;
  };
  criteria: Criterion[];
  /** Our extension: the semantic checks that apply and could not be made. Present if the level was requested. */
  unknown?: string[];
}

/** `skipped` and `remediation` are our extensions. A skipped check is not passed, not required and not listed as failed. */
export interface Criterion {
  id: string;
  description: string;
  passed: boolean;
  required: boolean;
  skipped?: true;
  details?: string;
  remediation?: string;
  expected?: unknown;
  actual?: unknown;
}

export function toRunningReport({ target, passed, checks, standard }: ServerReport): RunningReport {
  const criteria = checks.map(toCriterion);
  const required = criteria.filter((criterion) => criterion.required);
  return {
    target,
    validation_type: "running_environment",
    standard_version: standard.version,
    standard_profile: standard.version.startsWith("1.") ? "openenv-http/1.x" : "openenv-http/unknown",
    mode: standard.mode,
    passed,
    summary: {
      passed_count: criteria.filter((criterion) => criterion.passed).length,
      total_count: criteria.length,
      failed_criteria: required.filter((criterion) => !criterion.passed).map(({ id }) => id),
      required_passed_count: required.filter((criterion) => criterion.passed).length,
      required_total_count: required.length,
    },
    criteria,
  };
}

function toCriterion({ id, description, status, detail, remedy, expected, actual }: Check): Criterion {
  return {
    id,
    description,
    passed: status === "passed",
    required: status !== "skipped",
    ...(status === "skipped" && { skipped: true }),
    ...(detail !== undefined && { details: detail }),
    ...(remedy !== undefined && { remediation: remedy }),
    ...(expected !== undefined && { expected }),
    ...(actual !== undefined && { actual }),
  };
}

export function renderRunningReport(report: RunningReport): string {
  const { target, standard_profile, standard_version, mode, criteria, passed } = report;
  const lines = criteria.flatMap(({ id, passed, required, skipped, details, remediation, expected, actual }) => {
    const failed = required && !passed;
    return [
      `  ${skipped ? "SKIP" : passed ? "PASS" : "FAIL"}  ${id}${!failed && details ? `: ${details}` : ""}`,
      ...(failed ? [`        ${details}`] : []),
      ...(failed && expected !== undefined ? [`        expected: ${JSON.stringify(expected)}`] : []),
      ...(failed && actual !== undefined ? [`        actual: ${JSON.stringify(actual)}`] : []),
      ...(remediation === undefined ? [] : [`        to fix: ${remediation}`]),
    ];
  });
  return [
    `${target} (${standard_profile}, version ${standard_version}, ${mode} mode)`,
    ...lines,
    renderVerdict(passed ? "pass" : "fail", report.unknown),
  ].join("\n");
}
