import { InvalidArgumentError } from "commander";
import type { Check } from "openenv-ts/testing";
import { type Result, toResult } from "./report/package-report.js";
import { OWN } from "./report/policy.js";

/** Ids of the policy for checks that have another name where there is no policy. */
const IDS: Record<string, string> = {
  episode: "startup",
  rewards: "reward_well_formed",
  schemas_hold: "observation_schema",
  episode_id: "state_contract",
  isolated: "episode_isolation",
  seed_honoured: "seed_control",
  workers_agree: "episode_determinism",
};
const SEMANTIC: readonly string[] = [
  "verifier_determinism",
  "verifier_portability",
  "replayability",
  "resource_envelope",
];
/** The checks that can be left out, as reports without a policy call them. */
const CHECK_IDS: readonly string[] = [
  ...Object.keys(IDS),
  ...OWN.map((id) => id.replace("runtime.", "")),
  "tool_declaration_accuracy",
  "task_declaration_accuracy",
  "host_containment",
  "resource_bounds",
  ...SEMANTIC,
];

/**
 * The check that an option names, as either report does: `seed_honoured` or `runtime.seed_control`.
 * @throws InvalidArgumentError that lists them.
 */
export function parseCheckId(text: string): string {
  const name = text.replace(/^(runtime|semantic)\./, "");
  const id = Object.keys(IDS).find((key) => IDS[key] === name) ?? name;
  if (CHECK_IDS.includes(id)) return id;
  throw new InvalidArgumentError(`Checks that can be left out are ${CHECK_IDS.join(", ")}.`);
}

const STATUSES = { passed: "pass", failed: "fail", skipped: "skip" } as const;

export function fromCheck(check: Check): Result {
  const { id, description, status, detail, remedy, expected, actual, durationMs, notApplicable } = check;
  const facts = { ...(expected !== undefined && { expected }), ...(actual !== undefined && { actual }) };
  return toResult(
    `${SEMANTIC.includes(id) ? "semantic" : "runtime"}.${IDS[id] ?? id}`,
    STATUSES[status],
    [detail ?? description],
    {
      measured: facts,
      remediation: remedy ?? null,
      duration_s: durationMs / 1000,
      ...(notApplicable && { not_applicable: true }),
    },
  );
}

const WEIGHT = { skip: 0, pass: 1, fail: 2, error: 3 } as const;

/** One result a check: the worse one where it was made twice, and one that was made before one that was skipped. */
export function joinResults(first: readonly Result[], second: readonly Result[]): Result[] {
  const joined = new Map(first.map((result) => [result.check_id, result]));
  for (const result of second) {
    const known = joined.get(result.check_id);
    if (known === undefined || WEIGHT[result.status] > WEIGHT[known.status]) joined.set(result.check_id, result);
  }
  // Everything stands on the start.
  const order = ({ check_id }: Result): number => (check_id === "runtime.startup" ? 0 : 1);
  return [...joined.values()].sort((a, b) => order(a) - order(b));
}
