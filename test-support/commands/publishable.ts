import { readFileSync } from "node:fs";
import { join } from "node:path";
import { counterModule, createProject, type Project } from "./command-line.js";

const TEMPLATE = join(import.meta.dirname, "../../packages/cli/templates/env");

const MANIFEST = `spec_version: 1
name: counter_env
description: Counts.
environment: server/environment.ts
port: 8000
variables:
  TARGET: 10
validation:
  reward: { range: [0, 1], floor_margin: 0.1 }
  resources: { cpu: 1, memory_mb: 256, disk_mb: 256, episode_timeout_s: 60 }
  capabilities: { verifier: { kind: reward_channel } }
  types: { tags: [test] }
`;

/** A project with what a Space needs, besides these files. */
export async function createPublishable(files: Record<string, string> = {}): Promise<Project> {
  return await createProject({
    "openenv.yaml": MANIFEST,
    "package.json": JSON.stringify({ name: "counter-env", type: "module", private: true }),
    "package-lock.json": "{}",
    "README.md": "# Counter\n\nCounts.\n",
    "server/environment.ts": counterModule(),
    "server/app.ts": 'import { serve } from "openenv-ts/server";\n',
    "server/Dockerfile": readFileSync(join(TEMPLATE, "server/Dockerfile"), "utf8"),
    ".dockerignore": readFileSync(join(TEMPLATE, ".dockerignore"), "utf8"),
    ...files,
  });
}
