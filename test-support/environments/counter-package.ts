import { counterModule, createProject, type Project } from "../commands/command-line.js";

/** The counter with what validation asks of a package. */
export function createPackage(files: Record<string, string> = {}): Promise<Project> {
  return createProject({ "openenv.yaml": MANIFEST, "server/environment.ts": counterModule(), ...files });
}

export const MANIFEST = `name: counter_env
version: "1.0"
validation:
  reward: { range: [0, 1], floor_margin: 0.1 }
  resources: { cpu: 1, memory_mb: 256, disk_mb: 64, episode_timeout_s: 60 }
  capabilities:
    verifier: { kind: reward_channel }
  types: { tags: [game] }
`;

/** A plan of `validation/runtime.json`. */
export const PLAN = {
  plan_schema_version: "1",
  reset: { episode_id: "probe-1", seed: 3, options: {} },
  actions: [{ amount: 1 }, { amount: 2 }],
};
