import { InvalidArgumentError } from "commander";
import type { Check } from "openenv-ts/testing";
import { type Result, toResult } from "./report/package-report.js";
import { IDS as IDS_OF_POLICY, OWN } from "./report/policy.js";

/** IDs in the policy of checks that have another ID in reports without a policy. */
const IDS: Record<string, string> = {
  episode: "startup",
  rewards: "reward_well_formed",
  schemas_hold: "observation_schema",
  episode_id: "state_contract",
  isolated: "episode_isolation",
  seed_honoured: "seed_control",
  workers_agree: "episode_determinism",
};
const SEMANTIC: readonly string[] = IDS_OF_POLICY.filter((id) => id.startsWith("semantic.")).map(nameOf);
/** The checks that can be skipped, by their IDs in reports without a policy. */
const CHECK_IDS: readonly string[] = [
  ...Object.keys(IDS),
  ...OWN.map(nameOf),
  "tool_declaration_accuracy",
  "task_declaration_accuracy",
  "host_containment",
  "resource_bounds",
  "oracle_containment",
  ...SEMANTIC,
];

/**
 * Parses the ID of a check in the form of either report: `seed_honoured` or `runtime.seed_control`.
 * @throws InvalidArgumentError that lists the IDs.
 */
export function parseCheckId(text: string): string {
  const name = nameOf(text);
  const id = Object.keys(IDS).find((key) => IDS[key] === name) ?? name;
  if (CHECK_IDS.includes(id)) return id;
  throw new InvalidArgumentError(`Must be one of ${CHECK_IDS.join(", ")}.`);
}

function nameOf(id: string): string {
  return id.replace(/^(runtime|semantic)\./, "");
}

const STATUSES = { passed: "pass", failed: "fail", skipped: "skip" } as const;

export function fromCheck(check: Check): Result {
  const { id, description, status, detail, remedy, expected, actual, durationMs, notApplicable, broken } = check;
  const facts = { ...(expected !== undefined && { expected }), ...(actual !== undefined && { actual }) };
  return toResult(
    `${SEMANTIC.includes(id) ? "semantic" : "runtime"}.${IDS[id] ?? id}`,
    broken ? "error" : STATUSES[status],
    [detail ?? description],
    {
      measured: facts,
      remediation: remedy ?? null,
      duration_s: durationMs / 1000,
      ...(notApplicable && { not_applicable: true }),
    },
  );
}

const ORDER = ["skipped", "passed", "failed"];

/** Keeps one result of each check: the worse one, or the one that was not skipped. */
export function joinChecks(first: readonly Check[], second: readonly Check[]): Check[] {
  const joined = new Map(first.map((check) => [check.id, check]));
  for (const check of second) {
    const known = joined.get(check.id);
    if (known === undefined || ORDER.indexOf(check.status) > ORDER.indexOf(known.status)) joined.set(check.id, check);
  }
  return [...joined.values()];
}

const WEIGHT = { skip: 0, pass: 1, fail: 2, error: 3 } as const;

/** Keeps one result for each check: the worse one, or the one that was not skipped. */
export function joinResults(first: readonly Result[], second: readonly Result[]): Result[] {
  const joined = new Map(first.map((result) => [result.check_id, result]));
  for (const result of second) {
    const known = joined.get(result.check_id);
    if (known === undefined || WEIGHT[result.status] > WEIGHT[known.status]) joined.set(result.check_id, result);
  }
  // All other checks depend on the startup.
  const order = ({ check_id }: Result): number => (check_id === "runtime.startup" ? 0 : 1);
  return [...joined.values()].sort((a, b) => order(a) - order(b));
}
