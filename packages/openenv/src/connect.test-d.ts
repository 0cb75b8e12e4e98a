/** Compiled by the type check, never run: what `connect` infers. */
import * as z from "zod";
import type { EnvClient } from "./client/env-client.js";
import type { StepResult } from "./client/result.js";
import { connect } from "./connect.js";
import { defineContract } from "./contract/contract.js";
import { defineTools } from "./contract/tools/tools.js";
import { defineEnvironment } from "./environment/define-environment.js";

const counter = defineContract({
  name: "counter_env",
  action: z.object({ amount: z.int(), by: z.enum(["hand", "dice"]).default("hand") }),
  observation: z.object({ count: z.int(), note: z.string().nullable().default(null) }),
  state: z.object({ total: z.int() }),
  reset: z.object({ level: z.int().default(1) }),
});
const environment = defineEnvironment(counter, () => ({
  reset: () => ({ observation: { count: 0 } }),
  step: () => ({ observation: { count: 1 } }),
  state: () => ({ total: 1 }),
}));

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

export async function typedByAContract(): Promise<void> {
  const env = await connect("http://localhost:8000", counter, { timing: true });
  same<typeof env, EnvClient<typeof counter>>(true);
  const result = await env.reset({ seed: 7, episodeId: "e", level: 2 });
  same<typeof result, StepResult<{ count: number; note: string | null }>>(true);
  const state = await env.state();
  same<typeof state.total, number>(true);
  same<typeof state.episode_id, string | null>(true);
  await env.step({ amount: 1 });
  await env.step({ amount: 1, by: "dice" }, { timeoutMs: 5, metadata: { why: 1 } });
  // @ts-expect-error: not a field of the action
  await env.step({ amount: 1, many: 2 });
  // @ts-expect-error: the field is missing
  await env.step({});
  // @ts-expect-error: not a reset option of the contract
  await env.reset({ levle: 2 });
  // @ts-expect-error: not a field of the observation
  result.observation.sum;
  const tried = await env.tryStep({ amount: 1 });
  // @ts-expect-error: a failure has no observation
  tried.observation.count;
  if (tried.outcome !== "env_error" && tried.outcome !== "lost") same<typeof tried.observation.count, number>(true);
}

export async function typedByAnEnvironment(): Promise<void> {
  const env = await connect(environment);
  same<typeof env, EnvClient<typeof counter>>(true);
  same<Awaited<ReturnType<typeof env.step>>["observation"]["count"], number>(true);
}

export async function generic(): Promise<void> {
  const env = await connect("localhost:8000", { token: "t" });
  same<typeof env, EnvClient>(true);
  const { observation } = await env.step({ anything: [1] });
  same<typeof observation, Record<string, unknown>>(true);
  await env.reset({ seed: 1, anything: true });
  // @ts-expect-error: a seed is a number
  await env.reset({ seed: "1" });
}

export async function resetWithToolsOnly(): Promise<void> {
  const tools = defineTools({ go: { description: "Goes." } });
  const library = defineContract({ name: "library_env", observation: z.object({ wanted: z.string() }), tools });
  const env = await connect("http://localhost:8000", library);
  const { observation } = await env.reset();
  same<typeof observation, { wanted: string }>(true);
  const { observation: left } = await env.step({ tool_name: "go", arguments: {} });
  same<typeof left.wanted, string | undefined>(true);
}
