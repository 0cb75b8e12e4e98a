/** The severity of a failed check. A local report contains only checks that its policy lists. */
export type Severity = "fail" | "warn";
export type Level = "static" | "runtime" | "semantic";

export const LEVELS: readonly Level[] = ["static", "runtime", "semantic"];

/** Bounds of the values that an author may declare: seconds for the episode, else fractions of the reward. */
export interface Bounds {
  max_oracle_tolerance: number;
  min_floor_margin: number;
  max_variance_tolerance: number;
  max_episode_timeout_s: number;
}

export interface ValidationPolicy {
  version: string;
  bounds: Bounds;
  /** Severities by check ID. */
  severities: ReadonlyMap<string, Severity>;
}

/** The policy is unknown or does not support the level. Exit code 3. */
export class PolicyError extends Error {}

/**
 * Returns the policy of a version; default v1 for the static level and v2 for the others.
 * @throws PolicyError that lists the versions.
 */
export function findPolicy(version: string | undefined, level: Level): ValidationPolicy {
  const wanted = version ?? (level === "static" ? "v1" : "v2");
  if (wanted !== "v1" && wanted !== "v2") throw new PolicyError(`Unknown policy ${wanted}; use v1 or v2.`);
  if (wanted === "v1" && level !== "static") {
    throw new PolicyError("The policy v1 only supports --level static; use v2, or omit --policy.");
  }
  const ids = wanted === "v1" ? IDS.filter((id) => id !== "runtime.startup" && !OWN.includes(id)) : IDS;
  return { version: wanted, bounds: BOUNDS, severities: new Map(ids.map((id) => [id, severityOf(id)])) };
}

const BOUNDS: Bounds = {
  max_oracle_tolerance: 0.1,
  min_floor_margin: 0.1,
  max_variance_tolerance: 0.2,
  max_episode_timeout_s: 3600,
};

/** Checks that are not in the policies of the Python package. */
export const OWN: readonly string[] = [
  "openapi_version_available",
  "health_endpoint",
  "metadata_endpoint",
  "schema_endpoint",
  "mcp_endpoint",
  "mode_endpoint_consistency",
  "metadata",
  "bad_input",
  "reset_resets",
  "capacity",
  "nothing_left",
  "python_client",
  "client_imports",
  "data_files",
]
  .map((name) => `runtime.${name}`)
  .concat(of("semantic", "tasks_start trivial_floor reward_after_done adversary"));

export const IDS: readonly string[] = [
  "static.manifest",
  ...of("runtime", "startup reward_well_formed rubric_introspectable observation_schema state_contract"),
  ...of("runtime", "trajectory_record reward_attribution tool_declaration_accuracy task_declaration_accuracy"),
  ...of("runtime", "seed_control episode_determinism network_policy host_containment resource_bounds"),
  ...of("runtime", "episode_isolation oracle_containment"),
  ...OWN,
  ...of("semantic", "oracle_max floor_gap canary_floor no_solution_leakage verifier_determinism"),
  ...of("semantic", "verifier_portability resource_envelope replayability"),
];

const WARNINGS = of(
  "runtime",
  "rubric_introspectable trajectory_record reward_attribution python_client client_imports",
);

function of(level: Level, names: string): string[] {
  return names.split(" ").map((name) => `${level}.${name}`);
}

function severityOf(id: string): Severity {
  return WARNINGS.includes(id) ? "warn" : "fail";
}
