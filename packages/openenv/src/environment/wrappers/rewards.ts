import type { Action, Contract } from "../../contract/contract.js";
import type { ToolCall, ToolContext, ToolTransition } from "../../contract/tools/tools.js";
import { isAgentsDoing } from "../../protocol/tools.js";
import { after } from "../../util/async/after.js";
import type { MaybePromise } from "../../util/types.js";
import type { Environment, EnvironmentDefinition, StepContext, Transition } from "../environment.js";
import { Wrapper, wrapEnvironment } from "./wrapper.js";

/**
 * Changes every reward of a step, also of one that calls a tool. A reward that is null stays null.
 * @example transformReward(environment, (reward) => reward / 10);
 */
export function transformReward<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  transform: (reward: number) => number,
): EnvironmentDefinition<C> {
  const { toolReward } = environment.contract;
  return wrapEnvironment(environment, (env) => new TransformReward(env, transform, toolReward));
}

/**
 * Limits every reward to a range.
 * @throws TypeError for an empty range.
 * @example clipReward(environment, -1, 1);
 */
export function clipReward<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  min: number,
  max: number,
): EnvironmentDefinition<C> {
  if (!(min <= max)) throw new TypeError(`clipReward needs a range, got ${min} to ${max}.`);
  return transformReward(environment, (reward) => Math.min(max, Math.max(min, reward)));
}

class TransformReward<C extends Contract> extends Wrapper<C> {
  readonly #transform: (reward: number) => number;
  readonly #toolReward: 0 | null;

  constructor(env: Environment<C>, transform: (reward: number) => number, toolReward: 0 | null) {
    super(env);
    this.#transform = transform;
    this.#toolReward = toolReward;
  }

  override step(action: Action<C>, context: StepContext): MaybePromise<Transition<C>> {
    return after(super.step(action, context), (result) => this.#apply(result, null));
  }

  override afterTool(call: ToolCall, context: ToolContext): MaybePromise<ToolTransition> {
    const usual = isAgentsDoing(call) ? this.#toolReward : null;
    return after(super.afterTool(call, context), (result) => this.#apply(result, usual));
  }

  #apply<R extends ToolTransition>(result: R, usual: 0 | null): R {
    const reward = result?.reward ?? usual;
    // Validation reports an invalid result.
    if (typeof reward !== "number" && typeof reward !== "boolean") return result;
    return { ...result, reward: this.#transform(Number(reward)) };
  }
}
