import type { Action, Contract, ObservationInput } from "../../contract/contract.js";
import type { ToolCall, ToolContext, ToolTransition } from "../../contract/tools/tools.js";
import { ToolError } from "../../errors.js";
import { after } from "../../util/async/after.js";
import { type RngState, rng, type SeededRng } from "../../util/rng.js";
import type { MaybePromise } from "../../util/types.js";
import type { Environment, EnvironmentDefinition, ResetRequest, StepContext, Transition } from "../environment.js";
import { Wrapper, wrapEnvironment } from "./wrapper.js";

type Fault = "failure" | "rate_limit";

/** Options of {@link simulateFaults}. */
export interface FaultOptions<C extends Contract = Contract> {
  /** Milliseconds that each step and tool call waits, at least and at most; default none. */
  latencyMs?: readonly [min: number, max: number];
  /** The probability that a step or tool call fails, from 0 to 1; default 0. */
  failureRate?: number;
  /** After `calls` calls that were let through, up to `refused` calls are refused; default none. */
  rateLimit?: { readonly calls: number; readonly refused: number };
  /**
   * The result of a step that fails, given the last observation. Without it only tool calls fail. It may have a reward.
   */
  step?: (fault: Fault, last: ObservationInput<C>) => Transition<C>;
}

/**
 * Simulates an unreliable world, to train agents that cope with it: calls are slow, fail or meet a rate limit. The seed of
 * the reset decides which. A call that fails does not reach the environment. For a tool call the agent gets the error
 * `execution_error`, and the step has the usual reward of a tool call: such a failure is part of the world, and its
 * episode is not masked.
 * @throws TypeError for an invalid option.
 * @example simulateFaults(environment, { failureRate: 0.1, latencyMs: [20, 200] });
 */
export function simulateFaults<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  options: FaultOptions<C>,
): EnvironmentDefinition<C> {
  const {
    latencyMs: [min, max] = [0, 0],
    failureRate = 0,
    rateLimit: { calls, refused } = { calls: 1, refused: 1 },
  } = options;
  if (!(min >= 0 && min <= max && max < Infinity)) throw wrong("latencyMs", "two numbers in order", [min, max]);
  if (!(failureRate >= 0 && failureRate <= 1)) throw wrong("failureRate", "a number from 0 to 1", failureRate);
  if (![calls, refused].every((count) => Number.isSafeInteger(count) && count > 0))
    throw wrong("rateLimit", "two positive integers", { calls, refused });
  const { toolReward } = environment.contract;
  return wrapEnvironment(environment, (env) => new SimulatedFaults(env, options, toolReward));
}

function wrong(name: string, wanted: string, given: unknown): TypeError {
  return new TypeError(`${name} must be ${wanted}, got ${JSON.stringify(given)}.`);
}

const MESSAGES = {
  failure: "503 service unavailable; try again",
  rate_limit: "429 too many requests; try again later",
} as const;

class SimulatedFaults<C extends Contract> extends Wrapper<C> {
  readonly #options: FaultOptions<C>;
  readonly #toolReward: 0 | null;
  #rng: SeededRng = rng(0);
  /** Calls since the last that was refused, and how many are still to be refused. */
  #calls = 0;
  #refused = 0;
  #last: ObservationInput<C> | undefined;
  /** The last tool call was made to fail. */
  #hasFailed = false;

  constructor(env: Environment<C>, options: FaultOptions<C>, toolReward: 0 | null) {
    super(env);
    this.#options = options;
    this.#toolReward = toolReward;
  }

  override reset(request: ResetRequest<C>): MaybePromise<Transition<C>> {
    const seed = request.seed ?? request.rng.int(0, 2 ** 32 - 1);
    // Different numbers than those of the environment, which has the same seed.
    this.#rng = rng((seed % 2 ** 32) + 2 ** 40);
    this.#calls = this.#refused = 0;
    return this.#keep(super.reset(request));
  }

  override step(action: Action<C>, context: StepContext): MaybePromise<Transition<C>> {
    const { step } = this.#options;
    return this.#delay(context, () => {
      const fault = step && this.#draw();
      return fault === undefined || this.#last === undefined
        ? this.#keep(super.step(action, context))
        : (step?.(fault, this.#last) as Transition<C>);
    });
  }

  protected override callTool(name: string, input: object, context: ToolContext): MaybePromise<unknown> {
    return this.#delay(context, () => {
      const fault = this.#draw();
      this.#hasFailed = fault !== undefined;
      if (fault !== undefined) throw new ToolError("execution_error", MESSAGES[fault]);
      return super.callTool(name, input, context);
    });
  }

  override afterTool(call: ToolCall, context: ToolContext): MaybePromise<ToolTransition> {
    const isSimulated = this.#hasFailed && call.error?.error_type === "execution_error";
    return after(super.afterTool(call, context), (more) =>
      isSimulated ? { ...more, reward: more.reward ?? this.#toolReward } : more,
    );
  }

  protected override saveState(): Record<string, unknown> {
    return { rng: this.#rng.state, calls: this.#calls, refused: this.#refused, last: this.#last };
  }

  protected override loadState(state: Readonly<Record<string, unknown>>): void {
    this.#rng = rng(state["rng"] as RngState);
    this.#calls = state["calls"] as number;
    this.#refused = state["refused"] as number;
    this.#last = state["last"] as ObservationInput<C> | undefined;
  }

  #keep(result: MaybePromise<Transition<C>>): MaybePromise<Transition<C>> {
    return after(result, (given) => {
      this.#last = given?.observation;
      return given;
    });
  }

  #draw(): Fault | undefined {
    const { failureRate = 0, rateLimit } = this.#options;
    if (rateLimit !== undefined && this.#refused === 0 && this.#calls >= rateLimit.calls) {
      this.#calls = 0;
      this.#refused = this.#rng.int(1, rateLimit.refused);
    }
    if (this.#refused > 0) {
      this.#refused--;
      return "rate_limit";
    }
    this.#calls++;
    return this.#rng.next() < failureRate ? "failure" : undefined;
  }

  /** A sync call stays sync if there is no latency. A replay does not wait. */
  #delay<T>({ record, signal }: ToolContext, next: () => MaybePromise<T>): MaybePromise<T> {
    const { latencyMs } = this.#options;
    if (latencyMs === undefined) return next();
    const [min, max] = latencyMs;
    const ms = min + this.#rng.next() * (max - min);
    return record("simulated latency", () => wait(ms, signal)).then(next);
  }
}

/** @throws the reason of the signal, or rejects with it. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
