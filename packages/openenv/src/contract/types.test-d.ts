/** Type tests, run by the compiler: each `@ts-expect-error` must be an error, everything else must compile. */
import * as z from "zod";
import { defineEnvironment } from "../environment/define-environment.js";
import type { Environment, ResetRequest, ScoredObservation, StepContext } from "../environment/environment.js";
import { Gate } from "../environment/rubrics/gate.js";
import { Rubric } from "../environment/rubrics/rubric.js";
import { Sequential } from "../environment/rubrics/sequential.js";
import { WeightedSum } from "../environment/rubrics/weighted-sum.js";
import type { Task } from "../environment/tasks/tasks.js";
import {
  type Action,
  type ActionInput,
  defineContract,
  type Observation,
  type ResetInput,
  type State,
} from "./contract.js";
import { bytes, datetime, image } from "./fields.js";
import type { AcceptedParts } from "./part-types.js";
import { defineTools } from "./tools/tools.js";

const counter = defineContract({
  name: "counter_env",
  action: z.object({ amount: z.int(), note: z.string().default("") }),
  observation: z.object({ count: z.int(), label: z.string().default("") }),
  state: z.object({ total: z.int() }),
  reset: z.object({ level: z.int().default(1) }),
});
type Counter = typeof counter;
const bare = defineContract({ name: "bare", action: z.object({}), observation: z.object({ count: z.int() }) });

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function proves<_T extends true>(): void {}

proves<Same<ActionInput<Counter>, { amount: number; note?: string | undefined }>>();
proves<Same<Action<Counter>, { amount: number; note: string }>>();
proves<Same<Observation<Counter>, { count: number; label: string }>>();
proves<Same<State<Counter>, { total: number }>>();
proves<Same<ResetInput<Counter>, { level?: number | undefined }>>();
proves<Same<ResetRequest<Counter>["level"], number>>();
proves<Same<ResetRequest<Counter>["episodeId"], string>>();
proves<Same<StepContext["signal"], AbortSignal>>();

// Field helpers: input and output types.
const fields = z.object({ data: bytes(), when: datetime(), picture: image() });
proves<Same<z.input<typeof fields>["data"], string | Uint8Array>>();
proves<Same<z.output<typeof fields>["data"] extends Uint8Array ? true : false, true>>();
proves<Same<z.input<typeof fields>["when"], string | Date>>();
proves<Same<z.output<typeof fields>["when"], Date>>();
proves<Same<z.output<typeof fields>["picture"], string>>();

// The parameters of a closure are inferred.
defineEnvironment(counter, () => ({
  reset: ({ level, seed, episodeId, signal }) => {
    proves<Same<typeof level, number>>();
    proves<Same<typeof seed, number | undefined>>();
    proves<Same<typeof episodeId, string>>();
    proves<Same<typeof signal, AbortSignal>>();
    return { observation: { count: level } };
  },
  step: ({ amount, note }, { metadata }) => {
    proves<Same<typeof note, string>>();
    return { observation: { count: amount }, reward: true, done: false, metadata: { ...metadata } };
  },
  state: () => ({ total: 1 }),
}));

// A class fits without `implements`, sync or async, and may declare its contract.
class Plain {
  async reset() {
    return { observation: { count: 0 } };
  }
  step({ amount }: { amount: number }) {
    return { observation: { count: amount }, reward: 1 };
  }
}
defineEnvironment(counter, () => new Plain());
defineEnvironment(counter, async () => new Plain());
class Declared implements Environment<Counter> {
  reset({ level }: ResetRequest<Counter>) {
    return { observation: { count: level } };
  }
  step({ amount }: Action<Counter>) {
    return { observation: { count: amount } };
  }
}
defineEnvironment(counter, () => new Declared(), { metrics: {} });

// An environment accepts rubrics for its contract and rubrics for any contract; reset receives the task.
class Fits extends Rubric<Action<Counter>, ScoredObservation<Counter>> {
  override forward({ amount }: Action<Counter>, { count, done, reward }: ScoredObservation<Counter>) {
    return done && reward === null ? amount : count;
  }
}
class Misfit extends Rubric<{ text: string }> {
  override forward = () => 1;
}
const fits = new Fits();
fits.addPreHook((_rubric, { amount }) => void amount);
const rewarded = { reset: () => ({ observation: { count: 0 } }), step: () => ({ observation: { count: 0 } }) };
for (const rubric of [fits, new Gate(fits), new Sequential(), new WeightedSum([fits, new Gate(fits)], [0.5, 0.5])]) {
  defineEnvironment(counter, () => ({ ...rewarded, rubric }));
}
// @ts-expect-error a rubric for other actions
defineEnvironment(counter, () => ({ ...rewarded, rubric: new Misfit() }));
proves<Same<ResetRequest<Counter>["task"], Task | undefined>>();

// @ts-expect-error an instance is not a factory
defineEnvironment(counter, new Plain());
// @ts-expect-error nor is the class itself
defineEnvironment(counter, Plain);

const reset = () => ({ observation: { count: 0 } });
defineEnvironment(counter, () => ({
  reset,
  // @ts-expect-error a field of the wrong type
  step: () => ({ observation: { count: "1" } }),
}));
defineEnvironment(counter, () => ({
  reset,
  // @ts-expect-error a missing field
  step: () => ({ observation: {} }),
}));
// @ts-expect-error a field that the contract does not declare
defineEnvironment(counter, () => ({ reset, step: () => ({ observation: { count: 1, extra: 1 } }) }));
// @ts-expect-error also in reset
defineEnvironment(counter, () => ({ reset: () => ({ observation: { count: 1, extra: 1 } }), step: reset }));
// @ts-expect-error also in an async method
defineEnvironment(counter, () => ({ reset, step: async () => ({ observation: { count: 1, extra: 1 } }) }));
class Extra {
  reset = reset;
  step() {
    return { observation: { count: 1, extra: 1 } };
  }
}
// @ts-expect-error also in a class
defineEnvironment(counter, () => new Extra());
defineEnvironment(counter, () => ({
  reset,
  // @ts-expect-error a reward that is a string
  step: () => ({ observation: { count: 1 }, reward: "1" }),
}));
defineEnvironment(counter, () => ({
  reset,
  // @ts-expect-error an action that the contract does not have
  step: ({ amount, other }) => ({ observation: { count: amount + other } }),
}));
defineEnvironment(counter, () => ({
  // @ts-expect-error a reset option that the contract does not have
  reset: ({ other }) => ({ observation: { count: other } }),
  step: reset,
}));
// @ts-expect-error a state that lacks what it declares
defineEnvironment(counter, () => ({ reset, step: reset, state: () => ({}) }));
// @ts-expect-error no step
defineEnvironment(counter, () => ({ reset }));
// @ts-expect-error an option that does not exist
defineEnvironment(counter, () => new Plain(), { stepBeforeReset: "maybe" });

// @ts-expect-error the action of a contract is an object schema
defineContract({ name: "a", action: z.string(), observation: z.object({}) });
// @ts-expect-error a contract has an observation
defineContract({ name: "a", action: z.object({}) });

// A contract without state and reset options needs neither in the environment.
defineEnvironment(bare, () => ({ reset, step: reset }));
proves<Same<keyof ResetInput<typeof bare>, never>>();

// The arguments of handlers are inferred, and their results are checked.
const tooled = defineContract({
  name: "tooled",
  observation: z.object({ hint: z.string() }),
  tools: defineTools({
    add: { description: "Adds.", input: z.object({ a: z.int(), b: z.int().default(1) }), output: z.int() },
    free: { description: "Anything." },
  }),
});
const hint = () => ({ observation: { hint: "" } });
defineEnvironment(tooled, () => ({
  reset: hint,
  tools: {
    add: async ({ a, b }, { signal }) => {
      proves<Same<typeof b, number>>();
      proves<Same<typeof signal, AbortSignal>>();
      return a + b;
    },
    free: () => ["anything", 1],
  },
}));
class Tools {
  tools = { add: ({ a }: { a: number }) => a, free: () => null };
  reset = hint;
}
defineEnvironment(tooled, () => new Tools());
proves<Same<ActionInput<typeof tooled>["tool_name"], string>>();
proves<Same<ActionInput<typeof tooled>["type"], "call_tool" | undefined>>();
proves<Same<Observation<typeof tooled>["hint"], string | undefined>>();

// @ts-expect-error a handler that is missing
defineEnvironment(tooled, () => ({ reset: hint, tools: { add: () => 1 } }));
// @ts-expect-error all of them
defineEnvironment(tooled, () => ({ reset: hint }));
// @ts-expect-error a result of another type
defineEnvironment(tooled, () => ({ reset: hint, tools: { add: () => "1", free: () => 1 } }));
defineEnvironment(tooled, () => ({
  reset: hint,
  // @ts-expect-error an argument that is not declared
  tools: { add: ({ c }) => c, free: () => 1 },
}));
// @ts-expect-error an input that is not an object
defineTools({ go: { description: "Goes.", input: z.string() } });
// @ts-expect-error no description
defineTools({ go: { input: z.object({}) } });
const both = defineContract({
  name: "both",
  action: z.object({ move: z.string() }),
  observation: z.object({ count: z.int() }),
  tools: { look: { description: "Looks.", output: z.string() } },
});
defineEnvironment(both, () => ({ reset, step: reset, tools: { look: () => "around" } }));
// @ts-expect-error a contract with an action needs a step
defineEnvironment(both, () => ({ reset, tools: { look: () => "around" } }));

// An environment that can be restored has both methods, and restores what it saves.
const bareEpisodes = { reset: () => ({ observation: { count: 0 } }), step: () => ({ observation: { count: 0 } }) };
defineEnvironment(bare, () => ({
  ...bareEpisodes,
  step: (_action, { rng, now, record }) => {
    proves<Same<ReturnType<typeof now>, number>>();
    void record("oracle", async (key) => key.length).then((length) => length.toFixed(rng.int(0, 2)));
    return { observation: { count: 0 } };
  },
  snapshot: () => ({ count: 1 }),
  restore: ({ count }: { count: number }) => void count,
  stateKey: () => 1,
}));
// @ts-expect-error
defineEnvironment(bare, () => ({ ...bareEpisodes, snapshot: () => ({ count: 1 }) }));
// @ts-expect-error
defineEnvironment(bare, () => ({ ...bareEpisodes, restore: () => {} }));
defineEnvironment(
  bare,
  // @ts-expect-error
  () => ({ ...bareEpisodes, snapshot: async () => ({ count: 1 }), restore: (_saved: { total: number }) => {} }),
);

// An action that is a union of objects: clients send and the environment receives one of its variants.
const queries = defineContract({
  name: "sql_env",
  action: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("query"), sql: z.string(), limit: z.int().default(10) }),
    z.object({ kind: z.literal("answer"), value: z.string() }),
  ]),
  observation: z.object({ count: z.int() }),
});
type Query = { kind: "query"; sql: string; limit: number };
type Answer = { kind: "answer"; value: string };
proves<Same<Action<typeof queries>, Query | Answer>>();
proves<Same<Extract<ActionInput<typeof queries>, { kind: "query" }>["limit"], number | undefined>>();
defineEnvironment(queries, () => ({
  reset,
  step: (action) => ({ observation: { count: action.kind === "query" ? action.limit : action.value.length } }),
}));
defineEnvironment(queries, () => ({
  reset,
  // @ts-expect-error a field of another variant
  step: (action) => ({ observation: { count: action.kind === "query" ? action.value.length : 0 } }),
}));
const texts = defineContract({
  name: "plain_env",
  action: z.union([z.object({ text: z.string() }), z.object({ path: z.array(z.int()) })]),
  observation: z.object({}),
});
proves<Same<Action<typeof texts>, { text: string } | { path: number[] }>>();

/** The text with which each part is refused, which is also that of the error. */
type Refused<P extends string, W extends string> = {
  [K in P]: `The ${P} of a contract must be ${W}. Wrap another shape in a field: z.object({ move: yourSchema }).`;
};
type RefusedAction = Refused<"action", "an object schema or a union of object schemas">;
type Given<A> = AcceptedParts<{ action: A }>;
const object = z.object({ text: z.string() });
proves<Same<Given<typeof object>, { action: typeof object }>>();
const list = z.array(object);
proves<Same<Given<typeof list>, RefusedAction>>();
const mixed = z.union([object, z.string()]);
proves<Same<Given<typeof mixed>, RefusedAction>>();
const table = z.record(z.string(), z.int());
proves<Same<Given<typeof table>, RefusedAction>>();
const optional = object.optional();
proves<Same<Given<typeof optional>, RefusedAction>>();
const nested = z.union([object, z.union([z.object({ a: z.int() }), z.object({ b: z.int() })])]);
proves<Same<Given<typeof nested>, { action: typeof nested }>>();
const union = z.union([object, object]);
proves<Same<AcceptedParts<{ reset: typeof union }>, Refused<"reset", "an object schema">>>();
// @ts-expect-error a union with a string
defineContract({ name: "a", action: mixed, observation: object });
// @ts-expect-error an array
defineContract({ name: "a", action: list, observation: object });
// @ts-expect-error an observation that is a union
defineContract({ name: "a", action: object, observation: union });
// @ts-expect-error a state that is a union
defineContract({ name: "a", action: object, observation: object, state: union });
// @ts-expect-error reset options that are a string
defineContract({ name: "a", observation: object, tools: { look: { description: "Looks." } }, reset: z.string() });
