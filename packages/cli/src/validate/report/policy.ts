/** How much a check weighs. What a policy does not name is no part of a local report. */
export type Severity = "fail" | "warn";
export type Level = "static" | "runtime" | "semantic";

export const LEVELS: readonly Level[] = ["static", "runtime", "semantic"];

/** What an author may declare. Seconds for the episode, else shares of the reward. */
export interface Bounds {
  max_oracle_tolerance: number;
  min_floor_margin: number;
  max_variance_tolerance: number;
  max_episode_timeout_s: number;
}

export interface ValidationPolicy {
  version: string;
  bounds: Bounds;
  /** By the id of a check. */
  severities: ReadonlyMap<string, Severity>;
}

/** There is no such policy, or it does not go with the level. Exit code 3. */
export class PolicyError extends Error {}

/**
 * The policy of that version; without one the first for the static level and the second for the others.
 * @throws PolicyError that names the versions.
 */
export function findPolicy(version: string | undefined, level: Level): ValidationPolicy {
  const wanted = version ?? (level === "static" ? "v1" : "v2");
  if (wanted !== "v1" && wanted !== "v2") throw new PolicyError(`There is no policy ${wanted}; give v1 or v2.`);
  if (wanted === "v1" && level !== "static") {
    throw new PolicyError("The policy v1 knows only --level static; give v2, or no policy.");
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

/** Checks that the reference's policies do not name. */
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
  "data_files",
].map((name) => `runtime.${name}`);

const IDS: readonly string[] = [
  "static.manifest",
  ...of("runtime", "startup reward_well_formed rubric_introspectable observation_schema state_contract"),
  ...of("runtime", "trajectory_record reward_attribution tool_declaration_accuracy task_declaration_accuracy"),
  ...of("runtime", "seed_control episode_determinism network_policy host_containment resource_bounds"),
  ...of("runtime", "episode_isolation oracle_containment"),
  ...OWN,
  ...of("semantic", "oracle_max floor_gap canary_floor no_solution_leakage verifier_determinism"),
  ...of("semantic", "verifier_portability resource_envelope replayability"),
];

const WARNINGS = of("runtime", "rubric_introspectable trajectory_record reward_attribution python_client");

function of(level: Level, names: string): string[] {
  return names.split(" ").map((name) => `${level}.${name}`);
}

function severityOf(id: string): Severity {
  return WARNINGS.includes(id) ? "warn" : "fail";
}
