/** Type tests of a client's tools: compiled by the type check, never run. */
import * as z from "zod";
import { connect } from "../../connect.js";
import { connectTools } from "../../connect-tools.js";
import { defineContract } from "../../contract/contract.js";
import { datetime } from "../../contract/fields.js";
import { defineTools } from "../../contract/tools/tools.js";
import { defineEnvironment } from "../../environment/define-environment.js";
import { contractFromSchemas } from "../contract/schema-contract.js";
import type { EnvClient } from "../env-client.js";
import { connectVector } from "../vector/connect-vector.js";
import type { ToolCallResult } from "./mcp-result.js";

const contract = defineContract({
  name: "booth_env",
  action: z.object({ move: z.enum(["left", "right"]) }),
  observation: z.object({ at: z.int() }),
  tools: defineTools({
    guess: {
      description: "Guesses.",
      input: z.object({ word: z.string(), when: datetime().optional(), tries: z.int().default(1) }),
      output: z.object({ right: z.boolean(), at: datetime() }),
    },
    hint: { description: "Gives a hint.", input: z.object({ long: z.boolean().default(false) }), output: z.string() },
    peek: { description: "Looks." },
  }),
});
const environment = defineEnvironment(contract, () => ({
  reset: () => ({ observation: { at: 0 } }),
  step: () => ({ observation: { at: 1 } }),
  tools: { guess: () => ({ right: true, at: new Date() }), hint: () => "no", peek: () => 1 },
}));

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

export async function typedByAContract(): Promise<void> {
  for (const env of [await connect("http://localhost:8000", contract), await connect(environment)]) {
    const guess = await env.tools.guess({ word: "crane", tries: 2, when: new Date() }, { timeoutMs: 5 });
    same<typeof guess, ToolCallResult<{ right: boolean; at: Date }>>(true);
    await env.tools.hint();
    same<Awaited<ReturnType<typeof env.tools.hint>>["data"], string>(true);
    same<Awaited<ReturnType<typeof env.tools.peek>>["data"], unknown>(true);
    await env.tools.peek({}, { timeoutMs: 5 });
    // @ts-expect-error: not a tool of the contract
    await env.tools.other();
    // @ts-expect-error: the argument is missing
    await env.tools.guess({});
    // @ts-expect-error: the arguments are missing
    await env.tools.guess();
    // @ts-expect-error: not an argument
    await env.tools.guess({ word: "crane", loud: true });
    // @ts-expect-error: it takes no arguments
    await env.tools.peek({ word: "crane" });
    const { observation } = await env.step({ move: "left" });
    same<typeof observation, { at: number }>(true);
  }
  const untyped: EnvClient = await connect(environment);
  await untyped.tools["guess"]?.({ word: 1 });
}

export async function byName(): Promise<void> {
  const client = await connectTools(environment, { mode: "production" });
  same<typeof client.tools, EnvClient<typeof contract>["tools"]>(true);
  await client.callTool("anything", { at: 1 });
}

/** A contract as a generated client declares it. */
export async function typedBySchemas(): Promise<void> {
  const generated = contractFromSchemas<{
    action: { move: string };
    observation: { at: number };
    state: object;
    tools: {
      guess: { input: { word: string; tries?: number }; output: { right: boolean } };
      peek: { input: Record<string, never>; output: unknown };
    };
  }>("booth_env", contract.schemas());
  const env = await connect("http://localhost:8000", generated);
  same<Awaited<ReturnType<typeof env.tools.guess>>["data"], { right: boolean }>(true);
  await env.tools.peek();
  // @ts-expect-error: the argument has the wrong type
  await env.tools.guess({ word: 1 });
}

export async function withoutTools(): Promise<void> {
  const none = defineContract({ name: "none_env", action: z.object({}), observation: z.object({}) });
  const env = await connect("http://localhost:8000", none);
  // @ts-expect-error: it has no tools
  env.tools.guess;
}

export async function ofManySessions(): Promise<void> {
  const envs = await connectVector("http://localhost:8000", contract, { size: 2 });
  const words = ["crane", "moist"];
  const [guess] = await envs.callTools(words.map((word) => ({ name: "guess", arguments: { word } })));
  if (guess?.error === null) same<typeof guess.data, { right: boolean; at: Date }>(true);
  const mixed = await envs.callTools([{ name: "hint" }, { name: "guess", arguments: { word: "crane" } }, null]);
  for (const result of mixed) {
    if (result?.error === null && result.name === "hint") same<typeof result.data, string>(true);
  }
  // @ts-expect-error: not a tool of the contract
  await envs.callTools([{ name: "other" }, null]);
  // @ts-expect-error: the arguments are missing
  await envs.callTools([{ name: "guess" }, null]);
  // @ts-expect-error: an argument of another tool
  await envs.callTools([{ name: "hint", arguments: { word: "crane" } }, null]);
  const untyped = await connectVector("http://localhost:8000", { size: 2 });
  await untyped.callTools([{ name: "anything", arguments: { at: 1 } }, null]);

  const [one] = await envs.callTools([{ name: "guess", arguments: { word: "crane" } }, null]);
  if (one?.error === null) same<typeof one.data, { right: boolean; at: Date }>(true);
  if (one?.began && one.error === undefined) same<typeof one.observation, { at: number }>(true);
}
