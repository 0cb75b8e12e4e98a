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
        "no episode_id and no seed: they stand beside",
      ),
  }),
  actions: z.array(data).min(1).max(100),
});

/** The episode that a package wants to be judged by: a reset and 1 to 100 actions. */
export type RuntimePlan = z.output<typeof plan>;

const DEFAULT_PATH = "validation/runtime.json";

/**
 * The plan that `validation.execution.probe_path` names; without that block the file of its default path, if there is one.
 * @throws ConfigError that names the field, for one that is missing, outside of the package, too large or wrong.
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
  if (!found.isFile()) fail("is no file");
  if (found.size > MAX_BYTES) fail(`is larger than ${MAX_BYTES} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    fail(`is no JSON: ${(error as Error).message}`);
  }
  if (isDeeperThan(value, MAX_DEPTH)) fail(`nests deeper than ${MAX_DEPTH} levels`);
  const parsed = plan.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path: at, message }) => `${at.join(".") || "(root)"}: ${message}`);
  return fail(`is wrong: ${problems.slice(0, 5).join("; ")}`);
}

/**
 * Reads the actions that a user gives: a list of objects, or a runtime plan.
 * @throws ConfigError that says what such a file is.
 */
export async function readActions(file: string): Promise<Record<string, unknown>[]> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new ConfigError(`${file} cannot be read as JSON: ${(error as Error).message}`);
  }
  const actions = isObject(value) ? value["actions"] : value;
  if (Array.isArray(actions) && actions.length > 0 && actions.every(isObject)) return actions;
  throw new ConfigError(`${file} holds no actions; write a list of objects: [{"amount": 1}, {"amount": 2}].`);
}

/** Never recurses deeper than `limit`. */
function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return limit === 0 || Object.values(value).some((member) => isDeeperThan(member, limit - 1));
}
