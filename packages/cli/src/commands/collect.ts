import { resolve } from "node:path";
import type { Command } from "commander";
import type { Policy } from "openenv-ts";
import { connect, RemoteError } from "openenv-ts/client";
import { ConfigError, loadModelPolicy, offers, sampleValue } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { collect } from "../collect/collect.js";
import { type PushFlags, preparePush } from "../collect/push-episodes.js";
import { importModule } from "../project/load-environment.js";
import { readSchemas } from "../project/read-schemas.js";
import { serverToken } from "../server-token.js";
import { abortOnSignals } from "../terminal/interrupt.js";
import { jsonObject, wholeNumber } from "../terminal/option-values.js";
import { exit, print, printError, printNote, printProgress } from "../terminal/output.js";

const INTERRUPTED = 130;

const EXAMPLES = `
Each line of the output is one complete episode (schema: docs/guide/collect.md). Running the command again continues
where it stopped. Without a policy, actions are sampled at random from the schema.

Exit codes: 0 all episodes collected, 1 some failed, 2 invalid usage, 130 interrupted.

Examples:
  openenv collect http://localhost:8000 -n 100 -o episodes.jsonl
  openenv collect http://localhost:8000 --policy policy.ts --parallel 32
  openenv collect http://localhost:8000 --endpoint http://localhost:11434/v1 --model qwen3
  openenv collect http://localhost:8000 --split train -n 500
  openenv collect http://localhost:8000 -n 800 --group-size 8
  openenv collect http://localhost:8000 --push-to-hub somebody/episodes --private`;

interface CollectFlags extends PushFlags {
  episodes: number;
  output: string;
  parallel: number;
  groupSize: number;
  seed: number;
  maxSteps: number;
  retries: number;
  policy?: string;
  endpoint?: string;
  model?: string;
  systemPrompt?: string;
  sampling?: JsonObject;
  split?: string;
  reset: JsonObject;
  json?: boolean;
}

export function configureCollect(command: Command): void {
  command
    .argument("<url>", "URL of an OpenEnv server")
    .option("-n, --episodes <number>", "number of episodes in the output at the end", wholeNumber(1), 10)
    .option("-o, --output <file>", "file for the episodes", "episodes.jsonl")
    .option("--parallel <number>", "concurrent sessions", wholeNumber(1, 4096), 8)
    .option(
      "--seed <number>",
      "seed of the first episode; incremented for each next episode or group",
      wholeNumber(0),
      0,
    )
    .option("--group-size <number>", "episodes in a row with the same seed and task", wholeNumber(1), 1)
    .option("--max-steps <number>", "maximum number of steps in an episode", wholeNumber(1), 1000)
    .option("--retries <number>", "retries of a failed episode", wholeNumber(0), 2)
    .option("--policy <file>", "module whose default export chooses actions: (turn) => action")
    .option("--endpoint <url>", "let a language model choose actions: base URL of an OpenAI-compatible API")
    .option("--model <name>", "name of the model at the endpoint; the API key is OPENAI_API_KEY")
    .option("--system-prompt <text>", "instructions for the model, placed before the description of the environment")
    .option("--sampling <json>", 'extra fields of each request: {"temperature":0.7,"max_tokens":512}', jsonObject)
    .option("--split <name>", "run the tasks of this split in order")
    .option("--reset <json>", "extra fields of every reset", jsonObject, {})
    .option("-H, --push-to-hub <name>", "upload the file to a data set of the Hugging Face Hub: owner/name")
    .option("--private", "make the data set private when it is created")
    .option("--commit-message <text>", "title of the commit of the upload")
    .option("--json", "print the summary as JSON")
    .addHelpText("after", EXAMPLES)
    .action(run);
}

async function run(url: string, flags: CollectFlags): Promise<void> {
  const { episodes, output, parallel, groupSize, seed, maxSteps, retries, split, reset } = flags;
  const schemas = await readSchemas(url);
  const actionSchema = offers.offeredActions(schemas);
  const { environment, description, tasks } = await describeServer(url, split);
  const policy = await choosePolicy(flags, { actionSchema, description });
  const warnings = new Set<string>();
  using interrupt = abortOnSignals();
  const push = await preparePush(flags, { signal: interrupt.signal, canAsk: !flags.json });
  const { played, failed, lost } = await collect({
    url,
    environment,
    actionSchema,
    description,
    tools: offers.offeredTools(schemas),
    output,
    episodes,
    parallel,
    groupSize,
    maxSteps,
    retries,
    policy,
    resetOf: (episode) => {
      const start = Math.floor(episode / groupSize);
      return { seed: seed + start, ...(split !== undefined && { split, index: start % tasks }), ...reset };
    },
    signal: interrupt.signal,
    onEpisode: (done) => printProgress(`${done} of ${episodes} episodes`),
    onFailure: (episode, error) => printError(`episode ${episode}: ${error instanceof Error ? error.message : error}`),
    onWarning: (text) => {
      if (!warnings.has(text)) printNote(`warning: ${text}`);
      warnings.add(text);
    },
  });
  const steps = played.reduce((sum, episode) => sum + episode.steps, 0);
  const earned = played.reduce((sum, { total_reward }) => sum + (total_reward ?? 0), 0);
  const mean = played.length === 0 ? null : earned / played.length;
  const complete = !interrupt.signal.aborted && played.length > 0;
  const hub = complete ? await push?.upload(output, (line) => printProgress(`${output}: ${line}`)) : undefined;
  const summary = {
    output,
    episodes: played.length,
    failed,
    lost,
    steps,
    mean_total_reward: mean,
    ...(hub && { hub }),
  };
  const text = `${played.length} episodes, ${steps} steps, mean total reward ${mean?.toPrecision(4) ?? "-"}: ${output}`;
  print(flags.json ? JSON.stringify(summary) : hub === undefined ? text : `${text}\n${hub}`);
  if (failed > 0) printNote(`${failed} failed, ${lost} of them recorded as lost; run the command again to retry them.`);
  exit(interrupt.signal.aborted ? INTERRUPTED : failed > 0 ? 1 : 0);
}

async function choosePolicy(
  { policy, endpoint, model, systemPrompt, sampling }: CollectFlags,
  world: { actionSchema: JsonObject; description?: string },
): Promise<Policy> {
  if (policy !== undefined && endpoint !== undefined) throw new ConfigError("Pass --policy or --endpoint, not both.");
  const modelFlags = { "--model": model, "--system-prompt": systemPrompt, "--sampling": sampling };
  const unused = Object.entries(modelFlags).find(([, value]) => value !== undefined);
  if (endpoint === undefined && unused !== undefined) throw new ConfigError(`${unused[0]} requires --endpoint.`);
  if (policy !== undefined) return loadPolicy(policy);
  if (endpoint === undefined) return randomPolicy;
  const apiKey = process.env["OPENAI_API_KEY"];
  const options = { ...world, url: endpoint, model: model ?? "", systemPrompt };
  try {
    const { createModelPolicy } = await loadModelPolicy();
    return await createModelPolicy({ ...options, ...(sampling && { request: sampling }), ...(apiKey && { apiKey }) });
  } catch (error) {
    throw new ConfigError((error as Error).message, { cause: error });
  }
}

/** The name and description of the environment, and the number of tasks in the split. */
async function describeServer(
  url: string,
  split: string | undefined,
): Promise<{ environment: string; description: string; tasks: number }> {
  await using env = await connect(url, { token: serverToken() });
  const { name, description } = await env.metadata();
  const tasks = split === undefined ? 0 : await env.tasks.count(split).catch((error: unknown) => noTasks(name, error));
  if (split !== undefined && tasks < 1)
    throw new ConfigError(`The split "${split}" has no tasks; choose another split.`);
  return { environment: name, description, tasks };
}

function noTasks(name: string, error: unknown): never {
  if (!(error instanceof RemoteError) || error.code !== "TASKS_NOT_SUPPORTED") throw error;
  throw new ConfigError(`${name} has no tasks; omit --split.`, { cause: error });
}

/** Samples actions from the schema. */
const randomPolicy: Policy = ({ actionSchema, random }) => sampleValue(actionSchema, random) as JsonObject;

/** The default export of a module. @throws ConfigError when it does not load or exports no function. */
async function loadPolicy(file: string): Promise<Policy> {
  const { exports } = await importModule(resolve(file));
  const policy = exports["default"];
  if (typeof policy !== "function") {
    throw new ConfigError(`${file} does not export a policy; add a default export: a function (turn) => action.`);
  }
  return policy as Policy;
}
