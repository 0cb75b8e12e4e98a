import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, isObject } from "openenv-ts/internal";
import * as z from "zod";
import { findInside } from "./container/find-inside.js";

const MAX_BYTES = 65_536;
const MAX_DEPTH = 32;

const data = z.record(z.string(), z.unknown());
const plan = z.strictObject({
  plan_schema_version: z.literal("1"),
  reset: z.strictObject({
    episode_id: z.string().min(1).max(128),
    seed: z
      .int()
      .min(0)
      .max(2 ** 32 - 1),
    options: data
      .default({})
      .refine(
        (options) => !("episode_id" in options) && !("seed" in options),
        "must not contain episode_id or seed, which are separate fields",
      ),
  }),
  actions: z.array(data).min(1).max(100),
});

/** The episode that a package is validated with: a reset and 1 to 100 actions. */
export type RuntimePlan = z.output<typeof plan>;

const DEFAULT_PATH = "validation/runtime.json";

/**
 * Reads the plan at `validation.execution.probe_path`, or at its default path if the file exists.
 * @throws ConfigError that names the field, when the plan is missing, outside the package, too large or invalid.
 */
export async function findRuntimePlan(
  dir: string,
  execution: { probe_path: string } | undefined,
): Promise<RuntimePlan | undefined> {
  if (execution !== undefined) return readRuntimePlan(dir, execution.probe_path);
  return existsSync(join(dir, DEFAULT_PATH)) ? readRuntimePlan(dir, DEFAULT_PATH) : undefined;
}

async function readRuntimePlan(dir: string, path: string): Promise<RuntimePlan> {
  const fail = (what: string): never => {
    throw new ConfigError(`The runtime plan ${path} ${what}.`);
  };
  const file = await findInside(dir, path, "probe_path");
  const found = await stat(file);
  if (!found.isFile()) fail("is not a file");
  if (found.size > MAX_BYTES) fail(`is larger than ${MAX_BYTES} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    fail(`is not valid JSON: ${(error as Error).message}`);
  }
  if (isDeeperThan(value, MAX_DEPTH)) fail(`is nested deeper than ${MAX_DEPTH} levels`);
  const parsed = plan.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path: at, message }) => `${at.join(".") || "(root)"}: ${message}`);
  return fail(`is invalid: ${problems.slice(0, 5).join("; ")}`);
}

/**
 * Reads the actions of a file: a list of objects, or a runtime plan.
 * @throws ConfigError that describes the format when the file has no actions.
 */
export async function readActions(file: string): Promise<Record<string, unknown>[]> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new ConfigError(`Cannot read ${file} as JSON: ${(error as Error).message}`);
  }
  const actions = isObject(value) ? value["actions"] : value;
  if (Array.isArray(actions) && actions.length > 0 && actions.every(isObject)) return actions;
  throw new ConfigError(`${file} has no actions; it must be a list of objects: [{"amount": 1}, {"amount": 2}].`);
}

/** Recurses at most to `limit`. */
function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return limit === 0 || Object.values(value).some((member) => isDeeperThan(member, limit - 1));
}
