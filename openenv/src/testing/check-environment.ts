import { Ajv2020 } from "ajv/dist/2020.js";
import type { EnvClient } from "../client/env-client.js";
import { connect } from "../connect.js";
import type { ActionInput, Contract, ResetInput } from "../env/contract.js";
import type { Environment, EnvironmentDefinition } from "../env/environment.js";
import { type Rng, rng } from "../env/rng.js";
import { sampleValue } from "../env/sample-value.js";
import type { JsonObject } from "../protocol/messages.js";
import type { ToolErrorBody, ToolSummary } from "../protocol/tools.js";
import { type Episode, playEpisode } from "./episode.js";
import { firstDifference } from "./first-difference.js";
import { type CheckDefinition, type CheckReport, CheckSkip, demand, runChecks } from "./report.js";

export interface CheckEnvironmentOptions<C extends Contract = Contract> {
  /** What is played; default: eight actions sampled from the action schema, always the same. */
  actions?: readonly ActionInput<C>[];
  /** The contract's own reset options. */
  reset?: ResetInput<C>;
}

const SEED = 7;
const OTHER_SEEDS = [1, 2, 3, 4, 5];
const SAMPLES = 8;

/**
 * Plays an environment in process and checks what every environment promises: answers that fit the schema, finite
 * rewards, isolated sessions, a reset that resets, a close that never fails, and, where `seeded` is declared, that the
 * seed fixes the episode.
 * @example expect(await checkEnvironment(environment)).toMatchObject({ passed: true });
 */
export function checkEnvironment<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  options: CheckEnvironmentOptions<C> = {},
): Promise<CheckReport> {
  const definition = environment as unknown as EnvironmentDefinition;
  const subject: Subject = {
    definition,
    actions: (options.actions as JsonObject[] | undefined) ?? sampleActions(definition.contract),
    resetOptions: (options.reset as JsonObject | undefined) ?? {},
  };
  return runChecks(definition.contract.name, checksOf(subject));
}

function sampleActions({ schemas, toolsOnly }: Contract): JsonObject[] {
  const random = rng(SEED);
  const { action, tools = [] } = schemas();
  const sample = (nth: number): JsonObject => {
    const tool = toolsOnly ? tools[nth % tools.length] : undefined;
    return tool === undefined ? (sampleValue(action, random) as JsonObject) : sampleCall(tool, random);
  };
  return Array.from({ length: SAMPLES }, (_, nth) => sample(nth));
}

function sampleCall({ name, input_schema }: ToolSummary, random: Rng): JsonObject {
  return { type: "call_tool", tool_name: name, arguments: sampleValue(input_schema, random) };
}

interface Subject {
  definition: EnvironmentDefinition;
  actions: readonly JsonObject[];
  resetOptions: JsonObject;
}

function checksOf(subject: Subject): CheckDefinition[] {
  const check = (id: string, description: string, run: (subject: Subject) => Promise<void>) => ({
    id,
    description,
    run: () => run(subject),
  });
  return [
    check("answers", "reset, step and state answer, and rewards of steps are finite numbers", answers),
    check("schemas_hold", "observations and states fit the published schemas", schemasHold),
    check("episode_id", "the given episode id is taken over and steps are counted", episodeId),
    check("isolated", "one session does not change another", isolated),
    check("reset_resets", "a second reset begins as the first did", resetResets),
    check("seed_honoured", "the same seed and actions give the same episode", seedHonoured),
    check("tools_answer", "tools are listed, take what their schemas say, and unknown ones are refused", toolsAnswer),
    check("close_works", "close fails at no time: before a reset, after it, during a step", closeWorks),
  ];
}

const open = ({ definition }: Subject): Promise<EnvClient> => connect(definition) as unknown as Promise<EnvClient>;

async function withSession<T>(subject: Subject, use: (env: EnvClient) => Promise<T>): Promise<T> {
  await using env = await open(subject);
  return await use(env);
}

const play = (subject: Subject, env: EnvClient, seed: number): Promise<Episode> =>
  playEpisode(env, { ...subject.resetOptions, seed }, subject.actions);

async function answers(subject: Subject): Promise<void> {
  const episode = await withSession(subject, (env) => play(subject, env, SEED));
  demand(episode.length > 1, "the episode was done at its reset: no step could be taken");
  for (const [index, { reward }] of episode.entries()) {
    const fits = typeof reward === "number" || typeof reward === "boolean" || (reward === null && index === 0);
    demand(fits, `step ${index} gave the reward ${reward}: return a finite number from step`);
  }
}

async function schemasHold(subject: Subject): Promise<void> {
  const { observation, reset_observation, state } = subject.definition.contract.schemas();
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const observationFits = ajv.compile(observation);
  const firstFits = ajv.compile(reset_observation);
  const stateFits = ajv.compile(state);
  await withSession(subject, async (env) => {
    for (const [index, step] of (await play(subject, env, SEED)).entries()) {
      const seen = { ...(step.observation as JsonObject), reward: step.reward, done: step.done };
      const where = index === 0 ? "reset" : `step ${index}`;
      const fits = index === 0 ? firstFits : observationFits;
      demand(fits(seen), `${where}: the observation ${ajv.errorsText(fits.errors)}`);
    }
    demand(stateFits(await env.state()), `the state ${ajv.errorsText(stateFits.errors)}`);
  });
}

async function episodeId(subject: Subject): Promise<void> {
  await withSession(subject, async (env) => {
    await env.reset({ ...subject.resetOptions, episodeId: "checked" });
    const { episode_id, step_count } = await env.state();
    demand(episode_id === "checked", `the state names the episode ${episode_id} instead of "checked"`);
    demand(step_count === 0, `step_count is ${step_count} right after a reset`);
    await env.step(subject.actions[0] ?? {});
    const after = await env.state();
    demand(after.step_count === 1, `step_count is ${after.step_count} after one step`);
  });
}

async function isolated(subject: Subject): Promise<void> {
  if (!subject.definition.supportsConcurrentSessions) throw new CheckSkip("it supports one session at a time");
  await withSession(subject, (quiet) =>
    withSession(subject, async (busy) => {
      await quiet.reset({ ...subject.resetOptions, seed: SEED, episodeId: "quiet" });
      const before = await quiet.state();
      await play(subject, busy, SEED + 1);
      const difference = firstDifference(before, await quiet.state());
      const advice = "keep what belongs to a session inside the factory, not in the module";
      demand(difference === undefined, `another session changed ${difference}: ${advice}`);
    }),
  );
}

async function resetResets(subject: Subject): Promise<void> {
  await withSession(subject, async (env) => {
    const options = { ...subject.resetOptions, seed: SEED, episodeId: "same" };
    const begin = async () => ({ ...(await env.reset(options)), state: await env.state() });
    const first = await begin();
    for (const action of subject.actions) if ((await env.step(action)).done) break;
    const second = await begin();
    demand(second.state.step_count === 0, `step_count is ${second.state.step_count} after a reset`);
    demand(!second.done, "the second reset says that the episode is done");
    if (subject.definition.seeded !== true) return;
    const difference = firstDifference(first.observation, second.observation);
    demand(difference === undefined, `after a reset with the same seed the observation differs in ${difference}`);
  });
}

async function seedHonoured(subject: Subject): Promise<void> {
  if (subject.definition.seeded !== true) throw new CheckSkip("the environment does not declare `seeded: true`");
  const fresh = (seed: number): Promise<Episode> => withSession(subject, (env) => play(subject, env, seed));
  const reference = await fresh(SEED);
  const difference = firstDifference(reference, await fresh(SEED));
  demand(difference === undefined, `two episodes with seed ${SEED} differ first in ${difference}: draw from rng(seed)`);
  for (const seed of OTHER_SEEDS) if (firstDifference(reference, await fresh(seed)) !== undefined) return;
  demand(
    false,
    `seeds ${[SEED, ...OTHER_SEEDS].join(", ")} all give the same episode with these actions: use the seed, or pass \`actions\` that show what it decides`,
  );
}

async function toolsAnswer(subject: Subject): Promise<void> {
  const { tools } = subject.definition.contract.schemas();
  if (tools === undefined) throw new CheckSkip("the contract has no tools");
  await withSession(subject, async (env) => {
    await env.reset(subject.resetOptions);
    const { observation: list } = await env.step({ type: "list_tools" });
    const offered = list["tools"] as ToolSummary[];
    const random = rng(SEED);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const tool of offered) {
      const call = sampleCall(tool, random);
      // Not every schema can be sampled.
      if (!ajv.validate(tool.input_schema, call["arguments"])) continue;
      const { error } = (await env.step(call)).observation as { error: ToolErrorBody | null };
      demand(
        error?.error_type !== "invalid_args",
        `the tool ${tool.name} takes less than its schema: ${error?.message}`,
      );
    }
    const unknown = { type: "call_tool", tool_name: `no_${offered[0]?.name}`, arguments: {} };
    const { error } = (await env.step(unknown)).observation as { error: ToolErrorBody | null };
    demand(error?.error_type === "tool_not_found", `an unknown tool was answered with ${error?.error_type}`);
  });
}

async function closeWorks(subject: Subject): Promise<void> {
  const failures: unknown[] = [];
  const watched = { ...subject, definition: watchClose(subject.definition, (error) => failures.push(error)) };
  const closeAfter = async (when: string, use: (env: EnvClient) => Promise<unknown>): Promise<void> => {
    const env = await open(watched);
    await use(env);
    await env.close();
    demand(failures.length === 0, `close ${when} threw ${failures[0]}: end only what there is`);
  };
  await closeAfter("before any reset", async () => {});
  await closeAfter("after a reset", (env) => env.reset(subject.resetOptions));
  await closeAfter("during a step", async (env) => {
    await env.reset(subject.resetOptions);
    env.step(subject.actions[0] ?? {}).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve));
  });
}

/** The same environment; `failed` hears of each `close` that throws or rejects, which a server only logs. */
function watchClose(definition: EnvironmentDefinition, failed: (error: unknown) => void): EnvironmentDefinition {
  const watch = (instance: Environment): Environment =>
    new Proxy(instance, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key);
        if (typeof member !== "function") return member;
        if (key !== "close") return member.bind(target) as unknown;
        return async () => {
          try {
            await member.call(target);
          } catch (error) {
            failed(error);
          }
        };
      },
    });
  return { ...definition, create: async () => watch(await definition.create()) };
}
