import { Ajv2020 } from "ajv/dist/2020.js";
import type { EnvClient } from "../client/env-client.js";
import { connect } from "../connect.js";
import type { ActionInput, Contract, ResetInput } from "../contract/contract.js";
import type { EnvironmentDefinition } from "../environment/environment.js";
import type { JsonObject } from "../protocol/messages.js";
import type { ToolErrorBody, ToolSummary } from "../protocol/tools.js";
import { MAX_TIMER_MS } from "../util/async/timer.js";
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
import { tasksLoad } from "./checks/tasks.js";
import { limitCalls, watchCalls } from "./checks/watch.js";
import { collectWith, type RecordedCall } from "./collect-episode.js";
import { rewardProblems, schemaProblems, stateProblems } from "./graders.js";
import { openResources } from "./open-resources.js";
import { type CheckDefinition, type CheckReport, CheckSkip, demand, type Note, runChecks } from "./report.js";
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
  /**
   * Milliseconds for each call of the environment or its task provider; default 10,000. A call that takes longer fails
   * its check, and the remaining checks are skipped. A call that blocks the thread cannot be ended.
   */
  timeoutMs?: number;
}

const SAMPLES = 8;
const TIMEOUT_MS = 10_000;

/**
 * Plays an environment in process and checks what every environment must do: answers match the schema, rewards are
 * finite, sessions are isolated, reset starts over, every task can be read, close never fails, snapshots can be
 * restored, the same seed gives the same episode unless `seeded: false` is declared, and a replay repeats it if
 * `seeded: true` is. The check of the seed is skipped, with a reason, if the actions do not show what the seed decides.
 * @example expect(await checkEnvironment(environment)).toMatchObject({ passed: true });
 */
export async function checkEnvironment<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  options: CheckEnvironmentOptions<C> = {},
): Promise<CheckReport> {
  const { timeoutMs = TIMEOUT_MS } = options;
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS)) {
    throw new TypeError(
      `timeoutMs must be a positive number of milliseconds, at most ${MAX_TIMER_MS}, got ${timeoutMs}.`,
    );
  }
  let silent: string | undefined;
  const definition = watchCalls(
    environment as unknown as EnvironmentDefinition,
    limitCalls(timeoutMs, (name) => (silent ??= name)),
  );
  const { action, tools = [] } = definition.contract.schemas();
  const subject: Subject = {
    definition,
    open: () => connect(definition) as unknown as Promise<EnvClient>,
    actions: (options.actions as JsonObject[] | undefined) ?? sampleActions(action, tools, SAMPLES),
    reset: (options.reset as JsonObject | undefined) ?? {},
    seed: DEFAULT_SEED,
    seeded: definition.seeded,
    ignore: [],
  };
  /** After a call without an answer, each further check would only wait for the limit. */
  const guard = (check: CheckDefinition): CheckDefinition => ({
    ...check,
    run: async (note) => {
      if (silent !== undefined) throw new CheckSkip(`${silent} did not answer in an earlier check`);
      const failure = await check.run(note).then(
        () => undefined,
        (error: unknown) => error,
      );
      demand(silent === undefined, `${silent} did not answer within ${timeoutMs} ms`, { remedy: ADVICE.silent });
      if (failure !== undefined) throw failure;
    },
  });
  // A resource that cannot be opened fails the checks that need it.
  const resources = await openResources(definition).catch(() => undefined);
  try {
    return await runChecks(definition.contract.name, checksOf(subject).map(guard));
  } finally {
    await resources?.[Symbol.asyncDispose]();
  }
}

interface Subject extends EpisodePlayer {
  definition: EnvironmentDefinition;
}

function checksOf(subject: Subject): CheckDefinition[] {
  const check = (
    id: string,
    description: string,
    run: (subject: Subject, note: Note) => Promise<void>,
    remedy?: string,
  ) => ({
    id,
    description,
    ...(remedy !== undefined && { remedy }),
    run: (note: Note) => run(subject, note),
  });
  return [
    check("answers", "reset, step and state return results, and rewards of steps are finite numbers", answers),
    check("schemas_hold", "observations and states match the published schemas", schemasHold),
    check("episode_id", "the state has the given episode id and counts the steps", episodeId),
    check("isolated", "one session does not change another", isolatedSessions, ADVICE.isolated),
    check("reset_resets", "a second reset starts like the first", resetsFully, ADVICE.resetResets),
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
    check("tasks_load", "every task of every split can be read and is plain JSON", ({ definition }, note) =>
      tasksLoad(definition, note),
    ),
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

/** Without a declared seed, reset may return something else each time. */
function resetsFully(subject: Subject): Promise<void> {
  return resetResets({ ...subject, seeded: subject.seeded === true });
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

/** `failed` is called for each `close` that throws or rejects, which a server only logs. */
function watchClose(definition: EnvironmentDefinition, failed: (error: unknown) => void): EnvironmentDefinition {
  return watchCalls(definition, ({ name, run }) => (name === "close" ? (async () => run())().catch(failed) : run()));
}
