import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sampleValue } from "#core/contract/json-schema/sample-value.js";
import { OpenEnvError } from "#core/errors.js";
import type { JsonObject } from "#core/protocol/messages.js";
import { offeredActions } from "#core/protocol/offered-actions.js";
import type { ForkValue, RolloutDetail, RolloutEvent } from "#core/protocol/rollouts.js";
import type { ServerHandle } from "#core/server/plugins/plugin.js";
import { rng } from "#core/util/rng.js";
import { HIDDEN } from "../record/redact.js";
import { actionOf } from "../store/record.js";
import { type ForkPlan, type ForkPolicy, playFork } from "./play-fork.js";
import { summarizeForks } from "./value.js";

export const FORK_POLICIES = ["random", "recorded", "model"] as const;

export interface ForkOrder {
  /** The forks are made after this step; 0 is after the reset. */
  step: number;
  count: number;
  policy: (typeof FORK_POLICIES)[number];
}

/** A model that plays forks: the operator has named it. */
export interface ModelEndpoint {
  url: string;
  model: string;
  apiKey?: string;
}

export const MAX_FORKS = 256;
const AT_ONCE = 8;
const MAX_STEPS = 1_000;
const ROOM_MS = 200;

/**
 * Plays forks of an episode, some at a time, and reports after each what the step is worth by then. They are recorded as
 * episodes whose parent this one is. @throws OpenEnvError when the episode cannot be played again, or a fork cannot begin.
 */
export async function playForks(
  detail: RolloutDetail,
  { step, count, policy }: ForkOrder,
  { server, endpoint, signal, report }: ForkParts,
): Promise<void> {
  const prefix = prefixOf(detail, step);
  const { seed } = detail.episode;
  const { contract } = server;
  const schema = offeredActions(contract.schemas());
  const rewards: (number | null)[] = [];
  let next = 0;
  let failure: unknown;
  const stop = new AbortController();
  const ended = AbortSignal.any([signal, stop.signal]);
  const work = async (): Promise<void> => {
    while (next < count && !ended.aborted) {
      const nth = next++;
      const plan: ForkPlan = {
        prefix,
        seed: seed ?? undefined,
        policy: await choosePolicy(policy, { nth, detail, after: prefix.length, schema, endpoint }),
        maxSteps: MAX_STEPS,
      };
      const session = await open(server, { id: detail.episode.id, step, policy }, ended);
      const end = (): void => session.end("the fork has been played, or is not needed any more");
      // A call that hangs ends with its session.
      ended.addEventListener("abort", end);
      try {
        rewards.push(await playFork(session, plan, ended));
      } finally {
        ended.removeEventListener("abort", end);
        end();
      }
      report(summarizeForks(step, policy, rewards));
    }
  };
  const workers = Array.from({ length: Math.min(AT_ONCE, count) }, () =>
    work().catch((error: unknown) => {
      failure ??= error;
      stop.abort();
    }),
  );
  await Promise.all(workers);
  if (failure !== undefined) throw failure;
}

export interface ForkParts {
  server: ServerHandle;
  endpoint: ModelEndpoint | undefined;
  signal: AbortSignal;
  report(value: ForkValue): void;
}

/** The events up to a step. @throws OpenEnvError when they are not all there. */
function prefixOf({ events, complete, episode }: RolloutDetail, step: number): RolloutEvent[] {
  const refuse = (why: string): never => {
    throw new OpenEnvError("NOT_RESTORABLE", `The episode "${episode.id}" cannot be played again: ${why}.`);
  };
  if (!complete) refuse("it is not complete");
  if (events[0]?.type !== "reset") refuse("its reset is not recorded");
  if (events.some(({ request }) => request === null)) refuse("the store does not keep contents");
  if (JSON.stringify(events.map(({ request }) => request)).includes(HIDDEN)) refuse("a secret in it was not recorded");
  let steps = 0;
  const end = events.findIndex(({ type }) => (type === "reset" ? step === 0 : ++steps === step));
  if (end < 0) refuse(`it has ${steps} steps, not ${step}`);
  return events.slice(0, end + 1);
}

/** Opens a session; where the server has no room, when it has. */
async function open(server: ServerHandle, parent: JsonObject, signal: AbortSignal) {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await server.open({ name: FORKS, claims: parent });
    } catch (error) {
      if ((error as OpenEnvError).code !== "CAPACITY_REACHED" || server.sessions().length === 0) throw error;
      await sleep(ROOM_MS, undefined, { signal });
    }
  }
}

/** The principal of sessions that are forks, whose claims name the parent. */
export const FORKS = "rollouts:fork";

async function choosePolicy(policy: ForkOrder["policy"], parts: PolicyParts): Promise<ForkPolicy> {
  const { nth, detail, after, schema, endpoint } = parts;
  // Forks of a later request differ.
  const random = rng(randomInt(2 ** 31));
  if (policy === "random") return () => sampleValue(schema, random) as JsonObject;
  if (policy === "recorded") {
    const actions = detail.events.slice(after).map(actionOf);
    return ({ step }) => actions[step] ?? null;
  }
  if (endpoint === undefined) {
    const message = "No model is configured: set OPENENV_ROLLOUTS_POLICY_URL and OPENENV_ROLLOUTS_POLICY_MODEL.";
    throw new OpenEnvError("FORBIDDEN", message);
  }
  const { createModelPolicy } = await import("#core/testing/model-policy.js");
  const play = await createModelPolicy({ ...endpoint, actionSchema: schema });
  const memory = {};
  return ({ step, observation, reward }) =>
    play({ episode: nth, step, observation, reward, metadata: {}, actionSchema: schema, random, memory });
}

interface PolicyParts {
  nth: number;
  detail: RolloutDetail;
  after: number;
  schema: JsonObject;
  endpoint: ModelEndpoint | undefined;
}
