import { inspect } from "node:util";
import type { Policy, PolicyInput } from "openenv-ts";
import { rng } from "openenv-ts";
import { type EnvClient, OpenEnvError, type StepResult } from "openenv-ts/client";
import { isObject } from "openenv-ts/internal";
import {
  EPISODE_FORMAT,
  type EpisodeRecord,
  type EpisodeTool,
  type JsonObject,
  type RecordedFailure,
  type RecordedStep,
} from "openenv-ts/protocol";

/** Where the memory of a policy has what was written around the last action. */
const TEXT_KEY = "assistant_text";

export interface PlayEpisodeOptions {
  episode: number;
  /** Its number among the episodes with the same start. */
  member: number;
  environment: string;
  url: string;
  description: string;
  tools: EpisodeTool[];
  /** Fields of the reset. */
  reset: JsonObject;
  policy: Policy;
  actionSchema: JsonObject;
  maxSteps: number;
  /** Called for each reset option that the server dropped. */
  onWarning(text: string): void;
}

export interface CollectedEpisode {
  record: EpisodeRecord;
  /** Why the episode was lost. */
  failure?: OpenEnvError;
}

/** Runs one episode. */
export async function playEpisode(open: () => Promise<EnvClient>, plan: PlayEpisodeOptions): Promise<CollectedEpisode> {
  const { episode, environment, url, description, tools, reset } = plan;
  const record: EpisodeRecord = {
    format: EPISODE_FORMAT,
    episode,
    environment,
    url,
    started_at: new Date().toISOString(),
    reset,
    start: { observation: {}, reward: null, done: false, ms: 0 },
    steps: [],
    total_reward: null,
    end: "lost",
    ...(description !== "" && { description }),
    tools,
  };
  try {
    record.end = await play(open, plan, record);
    record.total_reward = record.steps.reduce((sum, { reward }) => sum + (reward ?? 0), 0);
    return { record };
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    record.failures = [error.failure];
    return { record, failure: error.cause };
  }
}

/** Adds the answers to the record; returns why the episode ended. @throws Failed */
async function play(open: () => Promise<EnvClient>, plan: PlayEpisodeOptions, record: EpisodeRecord) {
  const { episode, member, reset, policy, actionSchema, maxSteps, onWarning } = plan;
  const { steps } = record;
  const { result: first, ms } = await timed({ kind: "reset", after: 0, action: reset }, async () => {
    const env = await open();
    record.url = env.url;
    return env.reset(reset);
  });
  const env = await open();
  record.start = answerOf(first, ms);
  for (const text of first.warnings) onWarning(text);
  const turn: Omit<PolicyInput, "step" | "observation" | "reward" | "metadata"> = {
    episode,
    actionSchema,
    random: rng(typeof reset["seed"] === "number" ? mix(reset["seed"], member) : undefined),
    memory: {},
  };
  for (let result = first; !result.done; ) {
    if (steps.length >= maxSteps) return "max_steps";
    const { observation, metadata } = result;
    const reward = numberOf(result.reward);
    const action = await choose(policy, { ...turn, step: steps.length, observation, reward, metadata });
    if (action === null) return "policy";
    const stepped = await timed({ kind: "step", after: steps.length, action }, () => env.step(action));
    result = stepped.result;
    const text = turn.memory[TEXT_KEY];
    const own = typeof text === "string" && text !== "" ? { text } : {};
    steps.push({ action, ...own, ...answerOf(result, stepped.ms) });
  }
  return "done";
}

/** The seed of a policy's random numbers: episodes that start equally must not be equal. */
function mix(seed: number, member: number): number {
  return member === 0 ? seed : rng(seed).int(0, 0xffff_ffff) ^ Math.imul(member, 0x9e37_79b1);
}

/** @throws Failed with the code POLICY_FAILED: the step has no action. */
async function choose(policy: Policy, turn: PolicyInput): Promise<JsonObject | null> {
  const elapsed = startClock();
  try {
    const action: unknown = await policy(turn);
    if (action === null || isObject(action)) return action;
    throw new TypeError(
      `the policy returned ${inspect(action, { depth: 1 }).slice(0, 100)}, which is not an action or null`,
    );
  } catch (cause) {
    const message = (cause instanceof Error && cause.message) || String(cause);
    const error = new OpenEnvError("POLICY_FAILED", message, { cause });
    throw new Failed({ kind: "step", after: turn.step, action: {} }, error, elapsed());
  }
}

/** A request without a result, or an action that the policy did not choose. */
class Failed extends Error {
  declare readonly cause: OpenEnvError;
  readonly failure: RecordedFailure;

  constructor(request: Pick<RecordedFailure, "kind" | "after" | "action">, cause: OpenEnvError, ms: number) {
    super(cause.message, { cause });
    this.failure = { ...request, code: cause.code, message: cause.message, ms };
  }
}

async function timed(
  request: Pick<RecordedFailure, "kind" | "after" | "action">,
  call: () => Promise<StepResult>,
): Promise<{ result: StepResult; ms: number }> {
  const elapsed = startClock();
  try {
    const result = await call();
    return { result, ms: elapsed() };
  } catch (error) {
    throw error instanceof OpenEnvError ? new Failed(request, error, elapsed()) : error;
  }
}

/** Returns a function that returns the milliseconds since now. */
function startClock(): () => number {
  const start = performance.now();
  return () => Math.round((performance.now() - start) * 1000) / 1000;
}

function answerOf(
  { observation, reward, done, metadata }: StepResult,
  ms: number,
): Omit<RecordedStep, "action" | "text"> {
  const own = Object.keys(metadata).length > 0 ? { metadata } : {};
  return { observation, reward: numberOf(reward), done, ...own, ms };
}

function numberOf(reward: number | boolean | null): number | null {
  return reward === null ? null : Number(reward);
}
