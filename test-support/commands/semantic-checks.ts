import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loadEnvironment } from "../../packages/cli/src/project/load-environment.js";
import { checkSemantics, type SemanticOptions } from "../../packages/cli/src/validate/semantic/run.js";
import { useServers } from "../servers/servers.js";
import { createProject, type Project } from "./command-line.js";

/** Returns a function that checks a folder with an environment and an oracle. Its servers end after the tests. */
export function useSemanticChecks() {
  const servers = useServers();
  return async (
    dir: string,
    more: Partial<Pick<SemanticOptions, "search" | "logs" | "validation">> & { leaveOut?: string[] } = {},
  ) => {
    const environment = await loadEnvironment(join(dir, "server/environment.ts"));
    const server = await servers.start({}, { environment });
    const { leaveOut = [], ...rest } = more;
    const checking = { leaveOut, ...(environment.seeded !== undefined && { seeded: environment.seeded }) };
    const schemas = environment.contract.schemas();
    const options = { schemas, dir, validation: VALIDATION, isRequested: true, made: [], ...rest };
    const checks = await checkSemantics(server.url, checking, options);
    const failed = checks
      .filter(({ status }) => status === "failed")
      .map(({ id, detail = "" }) => [id, detail] as const);
    const skipped = checks.filter(({ status, notApplicable }) => status === "skipped" && !notApplicable);
    const passed = checks.filter(({ status }) => status === "passed").map(({ id }) => id);
    return { failed, passed, skipped: skipped.map(({ id, detail = "" }) => [id, detail] as const) };
  };
}

/** A copy of an environment. */
export async function copyEnvironment(name: string): Promise<Project> {
  const project = await createProject();
  const filter = (path: string): boolean => !/dist|node_modules|\.openenv|test\.ts$|\.py$/.test(path);
  await cp(join(ENVS, name), project.dir, { recursive: true, filter });
  await symlink(join(ENVS, "../node_modules"), join(project.dir, "node_modules"));
  return project;
}

/** Replaces a text of a file, which must have it. */
export async function change(path: string, from: string | RegExp, to: string): Promise<void> {
  const text = await readFile(path, "utf8");
  const changed = text.replace(from, to);
  if (changed === text) throw new Error(`${path} has no ${from}`);
  await writeFile(path, changed);
}

/** All checks but that of leaks. */
export const OTHERS = [
  ...["tasks_start", "seed_honoured", "verifier_determinism", "replayability", "isolated", "oracle_max", "floor_gap"],
  ...["trivial_floor", "reward_after_done", "canary_floor", "oracle_containment", "rewards"],
];

export const VALIDATION = {
  reward: { range: [0, 1], oracle_tolerance: 0, floor_margin: 0.1 },
  capabilities: {
    verifier: { kind: "reward_channel" },
    oracle: { form: "script", location: "validation/oracle.ts" },
    canaries: "validation/canaries.jsonl",
  },
} as unknown as NonNullable<SemanticOptions["validation"]>;
const ENVS = join(import.meta.dirname, "../../envs");
