import { Ajv2020 } from "ajv/dist/2020.js";
import type { EnvClient } from "../client/env-client.js";
import { connect } from "../connect.js";
import type { ActionInput, Contract, ResetInput } from "../contract/contract.js";
import type { Environment, EnvironmentDefinition } from "../environment/environment.js";
import type { JsonObject } from "../protocol/messages.js";
import type { ToolErrorBody, ToolSummary } from "../protocol/tools.js";
import { rng } from "../util/rng.js";
import {
  ADVICE,
  DEFAULT_SEED,
  type EpisodePlayer,
  isolated,
  resetResets,
  seedHonoured,
  withSession,
} from "./checks/behaviour.js";
import { RESTORE_ADVICE, replaysEpisodes, resetsIndependently, restoresSnapshots, usesSeed } from "./checks/restore.js";
import { collectWith, type RecordedCall } from "./collect-episode.js";
import { rewardProblems, schemaProblems, stateProblems } from "./graders.js";
import { type CheckDefinition, type CheckReport, CheckSkip, demand, runChecks } from "./report.js";
import { sampleActions, sampleCall } from "./sample-actions.js";

export interface CheckEnvironmentOptions<C extends Contract = Contract> {
  /**
   * The actions of every check, in this order until the episode is done; default: eight actions sampled from the schema,
   * always the same. Pass actions if sampled ones do not show what the environment decides: for a guessing game, the
   * correct guess for seed 7, the seed that is played.
   */
  actions?: readonly ActionInput<C>[];
  /** The contract's own reset options. */
  reset?: ResetInput<C>;
}

const SAMPLES = 8;

/**
 * Plays an environment in process and checks what every environment must do: answers match the schema, rewards are
 * finite, sessions are isolated, reset starts over, close never fails, snapshots can be restored, and, if `seeded` is
 * declared, the seed determines the episode and a replay repeats it. The check of the seed is skipped, with a reason, if
 * the actions do not show what the seed decides.
 * @example expect(await checkEnvironment(environment)).toMatchObject({ passed: true });
 */
export function checkEnvironment<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  options: CheckEnvironmentOptions<C> = {},
): Promise<CheckReport> {
  const definition = environment as unknown as EnvironmentDefinition;
  const { action, tools = [] } = definition.contract.schemas();
  const subject: Subject = {
    definition,
    open: () => connect(definition) as unknown as Promise<EnvClient>,
    actions: (options.actions as JsonObject[] | undefined) ?? sampleActions(action, tools, SAMPLES),
    reset: (options.reset as JsonObject | undefined) ?? {},
    seed: DEFAULT_SEED,
    seeded: definition.seeded === true,
    ignore: [],
  };
  return runChecks(definition.contract.name, checksOf(subject));
}

interface Subject extends EpisodePlayer {
  definition: EnvironmentDefinition;
}

function checksOf(subject: Subject): CheckDefinition[] {
  const check = (id: string, description: string, run: (subject: Subject) => Promise<void>, remedy?: string) => ({
    id,
    description,
    ...(remedy !== undefined && { remedy }),
    run: () => run(subject),
  });
  return [
    check("answers", "reset, step and state return results, and rewards of steps are finite numbers", answers),
    check("schemas_hold", "observations and states match the published schemas", schemasHold),
    check("episode_id", "the state has the given episode id and counts the steps", episodeId),
    check("isolated", "one session does not change another", isolatedSessions, ADVICE.isolated),
    check("reset_resets", "a second reset starts like the first", resetResets, ADVICE.resetResets),
    check("seed_honoured", "the same seed and actions give the same episode", seedHonoured, ADVICE.seeded),
    check(
      "tools_answer",
      "tools are listed and accept what their schemas allow, and unknown tools are rejected",
      toolsAnswer,
    ),
    check(
      "restores",
      "a session restored from a snapshot goes on like the original",
      restoresSnapshots,
      RESTORE_ADVICE.restores,
    ),
    check("replays", "an episode that is replayed gives the same answers", replaysEpisodes, RESTORE_ADVICE.replays),
    check(
      "resets_independent",
      "an episode does not depend on earlier ones",
      resetsIndependently,
      RESTORE_ADVICE.independent,
    ),
    check("seed_used", "a seeded environment reads the seed or the random numbers", usesSeed, RESTORE_ADVICE.seedUsed),
    check("close_works", "close never fails: before a reset, after it, during a step", closeWorks),
  ];
}

function collect(subject: Subject): Promise<RecordedCall[]> {
  const plan = { reset: { ...subject.reset, seed: subject.seed, episodeId: "checked" }, actions: subject.actions };
  return withSession(subject, (env) => collectWith(env, plan));
}

async function answers(subject: Subject): Promise<void> {
  const exchanges = await collect(subject);
  const stepped = exchanges.some(({ operation }) => operation === "step");
  demand(stepped, "the episode was done after reset: no step was possible");
  const [problem] = rewardProblems(exchanges);
  demand(problem === undefined, `${problem}: return a finite number from step`);
}

async function schemasHold(subject: Subject): Promise<void> {
  const schemas: object = subject.definition.contract.schemas();
  const [problem] = schemaProblems(await collect(subject), schemas as JsonObject);
  demand(problem === undefined, `${problem}`);
}

async function episodeId(subject: Subject): Promise<void> {
  const [problem] = stateProblems(await collect(subject));
  demand(problem === undefined, `${problem}`);
}

async function isolatedSessions(subject: Subject): Promise<void> {
  if (!subject.definition.supportsConcurrentSessions) throw new CheckSkip("it supports one session at a time");
  await isolated(subject);
}

async function toolsAnswer(subject: Subject): Promise<void> {
  const { tools } = subject.definition.contract.schemas();
  if (tools === undefined) throw new CheckSkip("the contract has no tools");
  await withSession(subject, async (env) => {
    await env.reset(subject.reset);
    const { observation: list } = await env.step({ type: "list_tools" });
    const offered = list["tools"] as ToolSummary[];
    const random = rng(subject.seed);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const tool of offered) {
      const call = sampleCall(tool, random);
      // Some schemas cannot be sampled.
      if (!ajv.validate(tool.input_schema, call["arguments"])) continue;
      const { error } = (await env.step(call)).observation as { error: ToolErrorBody | null };
      demand(
        error?.error_type !== "invalid_args",
        `the tool ${tool.name} rejects arguments that its schema allows: ${error?.message}`,
      );
    }
    const unknown = { type: "call_tool", tool_name: `no_${offered[0]?.name}`, arguments: {} };
    const { error } = (await env.step(unknown)).observation as { error: ToolErrorBody | null };
    demand(error?.error_type === "tool_not_found", `an unknown tool was answered with ${error?.error_type}`);
  });
}

async function closeWorks(subject: Subject): Promise<void> {
  const failures: unknown[] = [];
  const watched = watchClose(subject.definition, (error) => failures.push(error));
  const closeAfter = async (when: string, use: (env: EnvClient) => Promise<unknown>): Promise<void> => {
    const env = (await connect(watched)) as unknown as EnvClient;
    await use(env);
    await env.close();
    demand(failures.length === 0, `close ${when} threw ${failures[0]}: close only what exists`);
  };
  await closeAfter("before any reset", async () => {});
  await closeAfter("after a reset", (env) => env.reset(subject.reset));
  await closeAfter("during a step", async (env) => {
    await env.reset(subject.reset);
    env.step(subject.actions[0] ?? {}).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve));
  });
}

/** Wraps the environment; `failed` is called for each `close` that throws or rejects, which a server only logs. */
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
