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
  oracle_tolerance: atLeastZero.default(0).describe("how far the reward of the oracle may be below the highest"),
  floor_margin: atLeastZero.describe("how far the reward of an idle agent must be below that of the oracle"),
  variance_tolerance: atLeastZero.nullable().optional().describe("how far the rewards of equal episodes may differ"),
});

const resources = z.strictObject({
  cpu: aboveZero.describe("cores"),
  memory_mb: z.int().gt(0).describe("memory in MB"),
  disk_mb: z.int().gt(0).describe("disk in MB"),
  episode_timeout_s: aboveZero.describe("maximum duration of an episode in seconds"),
  gpus: z.int().min(0).default(0).describe("number of GPUs"),
  gpu_types: names.describe("GPU models"),
});

const verifier = z
  .strictObject({
    kind: z.enum(["reward_channel", "script"]).describe("what judges an episode"),
    entry: z.string().nullable().optional().describe("the script, if kind is `script`"),
  })
  .refine(({ kind, entry }) => (kind === "script") === Boolean(entry), {
    error: "must have entry if, and only if, kind is script.",
    params: { complete: true },
  });

const capabilities = z.strictObject({
  verifier: verifier.describe("how an episode is judged"),
  oracle: z
    .strictObject({
      form: z.enum(["injected_state", "script"]).describe("form of the oracle"),
      location: z.string().min(1).describe("path of the oracle in the package"),
    })
    .nullable()
    .optional()
    .describe("a policy that reaches the highest reward"),
  set_state: flag.describe("reset accepts a state"),
  llm_judged: flag.describe("a language model judges"),
  rubric_tree: flag.describe("rewards come from a tree of rubrics"),
  task_api: flag.describe("tasks can be listed"),
  canaries: z.string().nullable().optional().describe("file with recorded episodes that must not be rewarded"),
  declared_tools: names.describe("names of the tools"),
  declared_task_count: z.record(z.string(), z.int().min(0)).default({}).describe("tasks of each split"),
});

const network = z
  .strictObject({
    mode: z
      .enum(["public", "no-network", "allowlist"])
      .default("public")
      .describe("hosts that the server may connect to"),
    allowed_hosts: names.describe("allowed hosts, for the mode `allowlist`"),
  })
  .refine(({ mode, allowed_hosts }) => mode === "allowlist" || allowed_hosts.length === 0, {
    error: "must not have allowed_hosts unless mode is allowlist.",
    params: { complete: true },
  });

const execution = z.strictObject({
  kind: z.literal("openenv_ws").default("openenv_ws").describe("protocol of the probe"),
  probe_path: relativePath().default("validation/runtime.json").describe("file with the plan of the episode"),
  dockerfile: relativePath().default("Dockerfile").describe("Dockerfile of the image"),
  context: relativePath().default(".").describe("build context of the image"),
  agent_boundary: z.literal("api").default("api").describe("how agents access the environment"),
  requires_credentials: flag.describe("the server requires secrets"),
});

/** The block `validation`. It may have other fields, which are ignored with a warning; its nested blocks may not. */
export const validationBlock = z
  .object({
    reward: reward.describe("bounds of the reward"),
    resources: resources.describe("resources that a server may use"),
    capabilities: capabilities.describe("what the environment can do"),
    types: z.strictObject({ tags: z.array(z.string().min(1)).min(1).describe("at least one tag") }).describe("kind"),
    network: network.default({ mode: "public", allowed_hosts: [] }).describe("hosts that the server may connect to"),
    judge: z
      .strictObject({
        model: z.string().min(1).describe("name of the model"),
        version: z.string().min(1).describe("version of the model"),
        params: z.record(z.string(), z.unknown()).default({}).describe("parameters of the model"),
      })
      .nullable()
      .optional()
      .describe("the language model that judges, if `capabilities.llm_judged` is true"),
    task_distribution: z
      .strictObject({
        generator_seed: z.int().nullable().optional().describe("seed of generated tasks"),
        dataset_version: z.string().nullable().optional().describe("version of the tasks"),
        generator_model: z.string().nullable().optional().describe("model that generated the tasks"),
      })
      .nullable()
      .optional()
      .describe("where tasks come from"),
    varies: names.describe("fields that are not deterministic, such as `observation.timestamp`"),
    execution: execution.optional().describe("how validators start the server"),
  })
  .refine(({ capabilities, judge }) => capabilities.llm_judged === Boolean(judge), {
    error: "must have judge if, and only if, capabilities.llm_judged is true.",
    params: { complete: true },
  });
