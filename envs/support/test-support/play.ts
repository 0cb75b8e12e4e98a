import { connect } from "openenv-ts/client";
import { type Kind, kinds, makeCase } from "../cases.js";
import environment from "../server/environment.js";
import { tasks } from "../tasks.js";
import { oracle } from "../validation/oracle.js";
import type { World } from "../world.js";

export interface Place {
  split: string;
  index: number;
}
export interface Call {
  tool_name: string;
  arguments: object;
}

/** Every task of every split. */
export const places: Place[] = ["train", "test"].flatMap((split) =>
  Array.from({ length: tasks.count(split) }, (_, index) => ({ split, index })),
);

/** The first task of a kind. */
export const placeOf = (kind: Kind): Place => ({ split: "train", index: kinds.indexOf(kind) });

export const openSession = () => connect(environment);
export type Session = Awaited<ReturnType<typeof openSession>>;

/** What the task is about before the first call. */
export function worldOf({ split, index }: Place): World {
  const { seed, kind } = tasks.get(split, index);
  return makeCase(seed, kind).world;
}

/** All calls of the oracle. */
export function solutionOf(place: Place): Call[] {
  const calls: Call[] = [];
  for (let step_count = 0; ; step_count++) {
    const call = oracle(place, { step_count });
    if (call === undefined) return calls;
    calls.push(call);
  }
}

/** Plays calls until they or the episode end. */
export async function play(env: Session, place: Place, calls: readonly Call[]) {
  await env.reset(place);
  const rewards: number[] = [];
  const results: { ok: boolean; message: string }[] = [];
  let [done, metadata]: [boolean, Record<string, unknown>] = [false, {}];
  for (const { tool_name, arguments: given } of calls) {
    const call = env.tools[tool_name as "read_policy"];
    const result = await call(given);
    results.push(result.data);
    rewards.push(Number(result.reward));
    ({ done, metadata } = result);
  }
  const total = rewards.reduce((sum, reward) => sum + reward, 0);
  return { rewards, results, total, done, metadata, state: await env.state() };
}

export function call(tool_name: string, given: object): Call {
  return { tool_name, arguments: given };
}

export const close = call("message_customer", { text: "Goodbye!", close: true });
