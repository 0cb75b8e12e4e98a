import type { MaybePromise } from "../../util/types.js";
import { type TrajectoryOptions, TrajectoryRubric } from "./trajectory.js";

/** Options of {@link ExponentialDiscounting}. */
export interface DiscountingOptions extends TrajectoryOptions {
  /** The discount per step, from 0 (all credit to the last step) to 1 (the same for all steps); default 0.99. */
  gamma?: number;
}

/**
 * Rewards each step with the score of the episode, discounted by its distance from the end: `gamma^(T-1-t) * score`.
 */
export abstract class ExponentialDiscounting<A = unknown, O = unknown> extends TrajectoryRubric<A, O> {
  #gamma: number;

  /** @throws RangeError when gamma is not in [0, 1]. */
  constructor({ gamma = 0.99, ...options }: DiscountingOptions = {}) {
    super(options);
    this.#gamma = checkGamma(gamma);
  }

  get gamma(): number {
    return this.#gamma;
  }

  override computeStepRewards(): MaybePromise<number[]> {
    const last = this.trajectory.length - 1;
    if (last < 0) return [];
    return this.withFinalScore((score) => this.trajectory.map((_, t) => score * this.#gamma ** (last - t)));
  }

  protected override saveState(): Record<string, unknown> {
    return { ...super.saveState(), gamma: this.#gamma };
  }

  protected override loadState(state: Readonly<Record<string, unknown>>): void {
    const gamma = checkGamma(state["gamma"]);
    super.loadState(state);
    this.#gamma = gamma;
  }
}

function checkGamma(value: unknown): number {
  if (typeof value === "number" && value >= 0 && value <= 1) return value;
  throw new RangeError(`gamma must be a number from 0 to 1, not ${String(value)}.`);
}
