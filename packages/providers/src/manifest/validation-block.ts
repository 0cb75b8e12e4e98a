import * as z from "zod";
import { relativePath } from "./relative-path.js";

const flag = z.boolean().default(false);
const atLeastZero = z.number().min(0);
const aboveZero = z.number().gt(0);
const names = z.array(z.string().min(1)).default([]);

const reward = z.strictObject({
  range: z
    .tuple([z.number(), z.number()], "two numbers, [low, high]")
    .refine(([low, high]) => low < high, "[low, high] with low below high")
    .default([0, 1])
    .describe("lowest and highest reward of a step"),
  oracle_tolerance: atLeastZero.default(0).describe("how far below the highest the oracle may stay"),
  floor_margin: atLeastZero.describe("how far below the oracle an idle agent must stay"),
  variance_tolerance: atLeastZero.nullable().optional().describe("how far rewards of equal episodes may differ"),
});

const resources = z.strictObject({
  cpu: aboveZero.describe("cores"),
  memory_mb: z.int().gt(0).describe("memory in MB"),
  disk_mb: z.int().gt(0).describe("disk in MB"),
  episode_timeout_s: aboveZero.describe("longest episode in seconds"),
  gpus: z.int().min(0).default(0).describe("graphics processors"),
  gpu_types: names.describe("models of them"),
});

const verifier = z
  .strictObject({
    kind: z.enum(["reward_channel", "script"]).describe("who judges an episode"),
    entry: z.string().nullable().optional().describe("the script, exactly where kind is script"),
  })
  .refine(({ kind, entry }) => (kind === "script") === Boolean(entry), "with entry exactly where kind is script");

const capabilities = z.strictObject({
  verifier: verifier.describe("how an episode is judged"),
  oracle: z
    .strictObject({
      form: z.enum(["injected_state", "script"]).describe("what it is"),
      location: z.string().min(1).describe("where it is"),
    })
    .nullable()
    .optional()
    .describe("a player that reaches the highest reward"),
  set_state: flag.describe("reset takes a state"),
  llm_judged: flag.describe("a language model judges"),
  rubric_tree: flag.describe("rewards come from a tree of rubrics"),
  task_api: flag.describe("tasks can be listed"),
  canaries: z.string().nullable().optional().describe("file of marks that must not leak"),
  declared_tools: names.describe("names of the tools"),
  declared_task_count: z.record(z.string(), z.int().min(0)).default({}).describe("tasks of each split"),
});

const network = z
  .strictObject({
    mode: z.enum(["public", "no-network", "allowlist"]).default("public").describe("what the server may reach"),
    allowed_hosts: names.describe("hosts of an allowlist"),
  })
  .refine(({ mode, allowed_hosts }) => mode === "allowlist" || allowed_hosts.length === 0, {
    error: "without allowed_hosts unless mode is allowlist",
  });

const execution = z.strictObject({
  kind: z.literal("openenv_ws").default("openenv_ws").describe("protocol of the probe"),
  probe_path: relativePath().default("validation/runtime.json").describe("plan of the episode that is played"),
  dockerfile: relativePath().default("Dockerfile").describe("recipe of the image"),
  context: relativePath().default(".").describe("folder the image is built from"),
  agent_boundary: z.literal("api").default("api").describe("how agents reach it"),
  requires_credentials: flag.describe("needs secrets to run"),
});

/** The block `validation`. Its parts take no other fields; beside them others are let through. */
export const validationBlock = z
  .object({
    reward: reward.describe("bounds of the reward"),
    resources: resources.describe("what a server may use"),
    capabilities: capabilities.describe("what the environment can do"),
    types: z.strictObject({ tags: z.array(z.string().min(1)).min(1).describe("at least one word") }).describe("kind"),
    network: network.default({ mode: "public", allowed_hosts: [] }).describe("what the server may reach"),
    judge: z
      .strictObject({
        model: z.string().min(1).describe("its name"),
        version: z.string().min(1).describe("its version"),
        params: z.record(z.string(), z.unknown()).default({}).describe("its settings"),
      })
      .nullable()
      .optional()
      .describe("the language model that judges, exactly where capabilities.llm_judged is true"),
    task_distribution: z
      .strictObject({
        generator_seed: z.int().nullable().optional().describe("seed of generated tasks"),
        dataset_version: z.string().nullable().optional().describe("version of the tasks"),
        generator_model: z.string().nullable().optional().describe("model that made the tasks"),
      })
      .nullable()
      .optional()
      .describe("where tasks come from"),
    varies: names.describe("paths that differ between equal episodes by nature, such as observation.timestamp"),
    execution: execution.optional().describe("how the server is started for a probe"),
  })
  .refine(({ capabilities, judge }) => capabilities.llm_judged === Boolean(judge), {
    error: "with a judge exactly where capabilities.llm_judged is true",
  });
