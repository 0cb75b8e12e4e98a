import { statSync } from "node:fs";
import { join } from "node:path";
import { describePython, type Manifest, readManifest } from "@openenv-ts/providers/manifest";
import { ConfigError } from "openenv-ts/internal";
import { findNeed, LEFT_OUT } from "./needs.js";
import { digestPackage, recognisePackage } from "./package-source.js";
import { judge, LEVEL_NUMBERS, normalise, type PackageReport, type Result, toResult } from "./report/package-report.js";
import { type Bounds, findPolicy, LEVELS, type Level, type ValidationPolicy } from "./report/policy.js";
import { checkRuntime } from "./runtime.js";
import type { ValidateOptions } from "./validate-options.js";

/**
 * Validates the package in a folder, level by level.
 * @throws ConfigError for a folder that is not a package, PolicyError for an unknown policy.
 */
export async function validatePackage(dir: string, options: ValidateOptions): Promise<PackageReport> {
  const policy = findPolicy(options.policy, options.level);
  await recognisePackage(dir);
  const { digest, manifest, results } = await checkStatic(dir, policy.bounds);
  const levels: Level[] = ["static"];
  if (options.level !== "static") {
    // A release of zod that does not fit is no fault of the package that is checked.
    await import("openenv-ts");
    if (manifest?.validation !== undefined && digest !== "") {
      const runtime = await checkRuntime(dir, { manifest, validation: manifest.validation }, options);
      results.push(...runtime.results);
      if (runtime.attempted) levels.push("runtime");
      if (runtime.results.some(({ check_id, status }) => check_id.startsWith("semantic.") && status !== "skip"))
        levels.push("semantic");
      await checkUnchanged(dir, digest, results);
    }
    results.push(...listSkipped(policy, options.level, { results, manifest }));
  }
  return {
    report_schema_version: options.level !== "static" || manifest?.validation?.execution ? "2" : "1",
    target: dir,
    source_digest: digest,
    signature: "openenv.yaml",
    manifest: manifest ? normalise(manifest) : null,
    policy_version: policy.version,
    lane: "local",
    levels_run: levels.map((level) => LEVEL_NUMBERS[level]),
    results,
    verdict: judge(results, policy),
    ...(options.isRequested && { unknown: findUnknown(results) }),
  };
}

function findUnknown(results: readonly Result[]): string[] {
  const isUnknown = ({ check_id, status, not_applicable }: Result): boolean =>
    check_id.startsWith("semantic.") && status === "skip" && !not_applicable;
  return results.filter(isUnknown).map(({ check_id }) => check_id);
}

interface Static {
  /** Empty when the files could not be read. */
  digest: string;
  manifest: Manifest | undefined;
  results: Result[];
}

async function checkStatic(dir: string, bounds: Bounds): Promise<Static> {
  const start = performance.now();
  const result = (status: Result["status"], evidence: readonly string[], more: Partial<Result> = {}) =>
    toResult("static.manifest", status, evidence, { ...more, duration_s: (performance.now() - start) / 1000 });
  let digest = "";
  try {
    digest = await digestPackage(dir);
  } catch (error) {
    return { digest, manifest: undefined, results: [result("error", [(error as Error).message])] };
  }
  let manifest: Manifest | undefined;
  const notes: string[] = [];
  try {
    manifest = await readManifest(dir, (line) => notes.push(line));
    if (manifest.runtime === "fastapi") notes.unshift(describePython(dir, manifest.app));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const more = { remediation: "Fix these lines of openenv.yaml." };
    return { digest, manifest, results: [result("fail", error.message.split("\n"), more)] };
  }
  const { environment, validation } = manifest;
  if (environment !== undefined && !statSync(join(dir, environment), { throwIfNoEntry: false })?.isFile()) {
    const evidence = [...notes, `the environment in openenv.yaml is ${environment}, which does not exist`];
    return { digest, manifest: undefined, results: [result("fail", evidence, { remediation: CORRECT_FILE })] };
  }
  if (validation === undefined) {
    const evidence = [...notes, "openenv.yaml has no `validation` block"];
    return { digest, manifest, results: [result("fail", evidence, { remediation: WRITE_BLOCK })] };
  }
  const problems = boundProblems(validation, bounds);
  const { reward, resources } = validation;
  const measured = {
    oracle_tolerance: reward.oracle_tolerance,
    floor_margin: reward.floor_margin,
    variance_tolerance: reward.variance_tolerance ?? null,
    episode_timeout_s: resources.episode_timeout_s,
    bounds,
  };
  const more = { measured, ...(problems.length > 0 && { remediation: "Declare values within these bounds." }) };
  const verdict = problems.length > 0 ? problems : ["the manifest is valid and within the bounds of the policy"];
  const evidence = [...notes, ...verdict];
  return { digest, manifest, results: [result(problems.length > 0 ? "fail" : "pass", evidence, more)] };
}

const CORRECT_FILE = "Correct environment in openenv.yaml, or create the file.";
const WRITE_BLOCK =
  "Add validation: with reward {range, floor_margin}, resources {cpu, memory_mb, disk_mb, episode_timeout_s}, " +
  "capabilities {verifier} and types {tags}; docs/guide/validate-package.md has an example.";

function boundProblems({ reward, resources }: NonNullable<Manifest["validation"]>, bounds: Bounds): string[] {
  const above = (name: string, value: number | null | undefined, max: number): string[] =>
    (value ?? 0) > max ? [`${name} is ${value}, above the maximum of ${max}`] : [];
  return [
    ...above("reward.oracle_tolerance", reward.oracle_tolerance, bounds.max_oracle_tolerance),
    ...(reward.floor_margin < bounds.min_floor_margin
      ? [`reward.floor_margin is ${reward.floor_margin}, below the minimum of ${bounds.min_floor_margin}`]
      : []),
    ...above("reward.variance_tolerance", reward.variance_tolerance, bounds.max_variance_tolerance),
    ...above("resources.episode_timeout_s", resources.episode_timeout_s, bounds.max_episode_timeout_s),
  ];
}

/** Reports an error if the files changed since the digest was computed. */
async function checkUnchanged(dir: string, digest: string, results: Result[]): Promise<void> {
  if ((await digestPackage(dir).catch(() => "")) === digest) return;
  const startup = results.findIndex(({ check_id }) => check_id === "runtime.startup");
  results.splice(
    Math.max(startup, 0),
    startup < 0 ? 0 : 1,
    toResult("runtime.startup", "error", ["the files of the package changed during validation"], {
      remediation: "Validate again; a server must not write into its own package.",
    }),
  );
}

/** Lists the checks of the policy that were not made, each with the reason. */
function listSkipped(
  { severities }: ValidationPolicy,
  level: Level,
  { results, manifest }: { results: readonly Result[]; manifest: Manifest | undefined },
): Result[] {
  const made = new Set(results.map(({ check_id }) => check_id));
  const levels = LEVELS.slice(0, LEVELS.indexOf(level) + 1);
  return [...severities.keys()]
    .filter((id) => !made.has(id) && levels.some((name) => id.startsWith(`${name}.`)))
    .map((id) => skip(id, manifest?.validation, results));
}

function skip(id: string, validation: Manifest["validation"], results: readonly Result[]): Result {
  if (validation === undefined) return toResult(id, "skip", ["the manifest is not valid"]);
  const need = findNeed(id, validation);
  if (need?.declared === false) return toResult(id, "skip", [need.reason], { not_applicable: true });
  const startup = results.find(({ check_id }) => check_id === "runtime.startup");
  if (startup !== undefined && startup.status !== "pass")
    return toResult(id, "skip", ["the server did not start: see runtime.startup"]);
  return toResult(id, "skip", [need?.reason ?? LEFT_OUT]);
}
