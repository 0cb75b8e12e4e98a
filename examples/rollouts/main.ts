/**
 * Collects rollouts from sixteen sessions at once, like a trainer, while some of them fail deliberately: their steps are
 * masked and never count as a reward of zero. Run it with `npx openenv run examples/rollouts/main.ts`.
 */
import assert from "node:assert/strict";
import { defineContract, defineEnvironment, EnvironmentError } from "openenv-ts";
import { connect, type EnvClient } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import * as z from "zod";

const SESSIONS = 16;
const STEPS = 20;

const walk = defineContract({
  name: "walk_env",
  description: "Walk to either end of a line of 21 fields.",
  action: z.object({ direction: z.enum(["left", "right"]) }),
  observation: z.object({ position: z.int().min(-10).max(10) }),
});

const environment = defineEnvironment(
  walk,
  () => {
    let position = 0;
    return {
      reset: () => ({ observation: { position: (position = 0) } }),
      step: ({ direction }, { rng }) => {
        if (position === 3) throw new EnvironmentError("the floor gave way at 3");
        const forward = rng.next() < 0.9 ? 1 : -1;
        position += direction === "right" ? forward : -forward;
        return { observation: { position }, reward: position === 10 ? 1 : 0, done: Math.abs(position) === 10 };
      },
    };
  },
  { seeded: true },
);

interface Rollout {
  rewards: number[];
  /** One per step: false for a step without a result to train on. */
  mask: boolean[];
}

async function collect(env: EnvClient<typeof walk>, seed: number): Promise<Rollout> {
  const rollout: Rollout = { rewards: [], mask: [] };
  await env.reset({ seed });
  for (let i = 0; i < STEPS; i++) {
    const result = await env.tryStep({ direction: seed % 2 === 0 ? "right" : "left" });
    const usable = result.outcome !== "env_error" && result.outcome !== "lost";
    rollout.mask.push(usable);
    rollout.rewards.push(usable ? Number(result.reward) : Number.NaN);
    if (!usable || result.done) break;
  }
  return rollout;
}

await using server = await serve(environment, { port: 0, logLevel: "silent" });
const rollouts = await Promise.all(
  Array.from({ length: SESSIONS }, async (_, seed) => {
    await using env = await connect(server.url, walk);
    return await collect(env, seed);
  }),
);

const masked = rollouts.filter(({ mask }) => mask.includes(false));
assert.equal(masked.length, SESSIONS / 2, "every walk to the right falls at 3");
for (const { mask, rewards } of masked) assert.ok(Number.isNaN(rewards[mask.indexOf(false)]));
assert.ok(rollouts.every(({ mask }) => mask.length > 2));
console.log(`${rollouts.length} rollouts, ${masked.length} of them ended early and masked`);
