import type { Action, Contract } from "../../contract/contract.js";
import type { ToolCall, ToolContext, ToolTransition } from "../../contract/tools/tools.js";
import { after } from "../../util/async/after.js";
import { isObject } from "../../util/is-object.js";
import type { MaybePromise } from "../../util/types.js";
import type { Environment, EnvironmentDefinition, ResetRequest, StepContext, Transition } from "../environment.js";
import { checkEpisodeLimits, type EpisodeLimitOptions, EpisodeLimits } from "../episode-limits.js";
import { Wrapper, wrapEnvironment } from "./wrapper.js";

/**
 * Truncates episodes after a number of steps or of seconds, like the options of the same names.
 * @throws TypeError for an invalid limit.
 * @example timeLimit(environment, { maxSteps: 50 });
 */
export function timeLimit<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  limits: EpisodeLimitOptions,
): EnvironmentDefinition<C> {
  checkEpisodeLimits(limits);
  return wrapEnvironment(environment, (env) => new TimeLimit(env, limits));
}

export class TimeLimit<C extends Contract> extends Wrapper<C> {
  readonly #limits: EpisodeLimits;

  constructor(env: Environment<C>, limits: EpisodeLimitOptions) {
    super(env);
    this.#limits = new EpisodeLimits(limits);
  }

  override reset(request: ResetRequest<C>): MaybePromise<Transition<C>> {
    this.#limits.begin(request);
    return super.reset(request);
  }

  override step(action: Action<C>, context: StepContext): MaybePromise<Transition<C>> {
    return after(super.step(action, context), (result) => this.#apply(result, context));
  }

  override afterTool(call: ToolCall, context: ToolContext): MaybePromise<ToolTransition> {
    return after(super.afterTool(call, context), (result) => this.#apply(result, context));
  }

  protected override saveState(): Record<string, unknown> {
    return this.#limits.save();
  }

  protected override loadState(state: Readonly<Record<string, unknown>>): void {
    this.#limits.load(state as Parameters<EpisodeLimits["load"]>[0]);
  }

  /** Validation reports an invalid result. */
  #apply<R extends ToolTransition>(result: R, context: ToolContext): R {
    return isObject(result) ? this.#limits.apply(result, context) : result;
  }
}
