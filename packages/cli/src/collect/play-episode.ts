import type { Policy, PolicyInput } from "openenv-ts";
import type { EnvClient, StepResult } from "openenv-ts/client";
import { rng } from "openenv-ts/internal";
import {
  EPISODE_FORMAT,
  type EpisodeRecord,
  type EpisodeTool,
  type JsonObject,
  type RecordedStep,
} from "openenv-ts/protocol";

/** Where the memory of a policy has what was written around the last action. */
export const TEXT_KEY = "assistant_text";

export interface PlayEpisodeOptions {
  episode: number;
  /** Its number among the episodes with the same start. */
  member: number;
  environment: string;
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

/** Runs one episode. @throws the error of reset, step or the policy: a failed episode is not recorded. */
export async function playEpisode(env: EnvClient, plan: PlayEpisodeOptions): Promise<EpisodeRecord> {
  const { episode, member, environment, description, tools, reset, policy, actionSchema, maxSteps, onWarning } = plan;
  const started_at = new Date().toISOString();
  const begun = await timed(() => env.reset(reset));
  const start = answerOf(begun);
  for (const text of begun.result.warnings) onWarning(text);
  const turn: Omit<PolicyInput, "step" | "observation" | "reward" | "metadata"> = {
    episode,
    actionSchema,
    random: rng(typeof reset["seed"] === "number" ? mix(reset["seed"], member) : undefined),
    memory: {},
  };
  const steps: RecordedStep[] = [];
  let { result } = begun;
  let end: EpisodeRecord["end"] = "done";
  while (!result.done) {
    if (steps.length >= maxSteps) {
      end = "max_steps";
      break;
    }
    const { observation, metadata } = result;
    const action = await policy({
      ...turn,
      step: steps.length,
      observation,
      reward: numberOf(result.reward),
      metadata,
    });
    if (action === null) {
      end = "policy";
      break;
    }
    const stepped = await timed(() => env.step(action));
    result = stepped.result;
    const text = turn.memory[TEXT_KEY];
    steps.push({ action, ...(typeof text === "string" && text !== "" && { text }), ...answerOf(stepped) });
  }
  return {
    format: EPISODE_FORMAT,
    episode,
    environment,
    url: env.url,
    started_at,
    reset,
    start,
    steps,
    total_reward: steps.reduce((sum, { reward }) => sum + (reward ?? 0), 0),
    end,
    ...(description !== "" && { description }),
    tools,
  };
}

/** The seed of a policy's random numbers: episodes that start equally must not be equal. */
function mix(seed: number, member: number): number {
  return member === 0 ? seed : rng(seed).int(0, 0xffff_ffff) ^ Math.imul(member, 0x9e37_79b1);
}

interface Timed {
  result: StepResult;
  ms: number;
}

async function timed(call: () => Promise<StepResult>): Promise<Timed> {
  const asked = performance.now();
  const result = await call();
  return { result, ms: Math.round((performance.now() - asked) * 1000) / 1000 };
}

function answerOf({
  result: { observation, reward, done, metadata },
  ms,
}: Timed): Omit<RecordedStep, "action" | "text"> {
  const own = Object.keys(metadata).length > 0 ? { metadata } : {};
  return { observation, reward: numberOf(reward), done, ...own, ms };
}

function numberOf(reward: number | boolean | null): number | null {
  return reward === null ? null : Number(reward);
}
