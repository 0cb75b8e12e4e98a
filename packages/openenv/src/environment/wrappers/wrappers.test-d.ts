/** Compiled by the type check, never run: the types of wrapped environments. */
import * as z from "zod";
import { connect } from "../../connect.js";
import { type Action, defineContract, type ObservationInput } from "../../contract/contract.js";
import { defineTools } from "../../contract/tools/tools.js";
import { defineEnvironment } from "../define-environment.js";
import type { Environment, MaybePromise, StepContext, Transition } from "../environment.js";
import {
  clipReward,
  filterObservation,
  historyObservation,
  simulateFaults,
  timeLimit,
  transformObservation,
  transformReward,
  Wrapper,
  wrapEnvironment,
} from "./index.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

const quiz = defineContract({
  name: "quiz_env",
  action: z.object({ answer: z.string() }),
  observation: z.object({ question: z.string(), solution: z.string() }),
  state: z.object({ score: z.int() }),
});
const environment = defineEnvironment(quiz, () => ({
  reset: () => ({ observation: { question: "", solution: "" } }),
  step: () => ({ observation: { question: "", solution: "" } }),
  state: () => ({ score: 1 }),
}));

export async function sameContract(): Promise<void> {
  const wrapped = transformReward(clipReward(timeLimit(environment, { maxSteps: 3 }), 0, 1), (reward) => reward / 2);
  same<typeof wrapped, typeof environment>(true);
  await using env = await connect(wrapped);
  const { observation } = await env.step({ answer: "" });
  same<typeof observation, { question: string; solution: string }>(true);
  transformObservation(environment, ({ question, solution }) => ({ question: question.trim(), solution }));
  // @ts-expect-error: the observation lacks a field
  transformObservation(environment, ({ question }) => ({ question }));
  simulateFaults(environment, { step: (fault, last) => ({ observation: { ...last, question: fault } }) });
}

export async function otherContract(): Promise<void> {
  const shown = filterObservation(environment, ["question"]);
  await using env = await connect(historyObservation(shown, 2));
  const { observation } = await env.step({ answer: "" });
  const question: string | undefined = observation.history[0]?.observation.question;
  const answer: string | undefined = observation.history[0]?.action.answer;
  const score: number = (await env.state()).score;
  void [question, answer, score];
  // @ts-expect-error: the field was left out
  observation.solution;
  // @ts-expect-error: not a field of the observation
  filterObservation(environment, ["qestion"]);
  const counted = transformObservation(
    shown,
    (one) => ({ length: one.question.length }),
    z.object({ length: z.int() }),
  );
  await using other = await connect(counted);
  same<Awaited<ReturnType<typeof other.reset>>["observation"], { length: number }>(true);
}

export async function withToolsOnly(): Promise<void> {
  const tools = defineTools({ go: { description: "Goes." } });
  const library = defineContract({
    name: "library_env",
    observation: z.object({ wanted: z.string(), at: z.int() }),
    tools,
  });
  const inner = defineEnvironment(library, () => ({
    reset: () => ({ observation: { wanted: "Dune", at: 1 } }),
    tools: { go: () => 1 },
  }));
  await using env = await connect(filterObservation(inner, ["wanted"]));
  const { observation } = await env.reset();
  const wanted: string = observation.wanted;
  void wanted;
  // @ts-expect-error: the field was left out
  observation.at;
  await env.tools.go({});
}

class Loud extends Wrapper<typeof quiz> {
  override step(action: Action<typeof quiz>, context: StepContext): MaybePromise<Transition<typeof quiz>> {
    return super.step({ answer: action.answer.toUpperCase() }, context);
  }
  override render(observation: ObservationInput<typeof quiz>) {
    return super.render({ ...observation, question: "" });
  }
}
export const loud = wrapEnvironment(environment, (env) => new Loud(env));
export const inner = wrapEnvironment(environment, (env: Environment<typeof quiz>) => new Loud(env));
