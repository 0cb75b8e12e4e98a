import { EnvironmentError } from "../../errors.js";
import { isThenable } from "../../util/async/thenable.js";
import { snapshot } from "../../util/snapshot.js";
import type { MaybePromise } from "../../util/types.js";
import { Rubric, type ScoreContext } from "./rubric.js";
import { failureOf, notFinite } from "./rubric-failure.js";

/** A copy of one step of an episode. */
export interface TrajectoryStep<A = unknown, O = unknown> {
  readonly action: A;
  readonly observation: O;
}

/** Options of {@link TrajectoryRubric}. */
export interface TrajectoryOptions {
  /** The score of every step before the last; default 0. */
  intermediateReward?: number;
  /**
   * Maximum number of recorded steps of an episode; default 10,000. Above it scoring fails, which limits the memory.
   */
  maxSteps?: number;
}

/**
 * Scores an episode as a whole when it is done. It keeps a copy of every step since the last reset, also of steps in
 * which it did not run because a rubric before it scored 0.
 */
export abstract class TrajectoryRubric<A = unknown, O = unknown> extends Rubric<A, O> {
  #steps: TrajectoryStep<A, O>[] = [];
  #final: number | undefined;
  #intermediateReward: number;
  readonly #maxSteps: number;

  /** @throws RangeError for an invalid option. */
  constructor({ intermediateReward = 0, maxSteps = 10_000 }: TrajectoryOptions = {}) {
    super();
    this.#intermediateReward = checkReward(intermediateReward);
    if (!(Number.isInteger(maxSteps) && maxSteps > 0)) {
      throw new RangeError(`maxSteps must be a positive integer, got ${maxSteps}.`);
    }
    this.#maxSteps = maxSteps;
  }

  /** The score of an episode. Called when an observation is `done`. */
  abstract scoreTrajectory(trajectory: readonly TrajectoryStep<A, O>[], context: ScoreContext): MaybePromise<number>;

  /**
   * One reward for each step of this episode, for training after it ends; by default the score that each step returned.
   * @throws RubricError, or rejects with it, when the episode has no score.
   */
  computeStepRewards(): MaybePromise<number[]> {
    if (this.#steps.length === 0) return [];
    return this.withFinalScore((score) =>
      this.#steps.map((_, t) => (t === this.#steps.length - 1 ? score : this.#intermediateReward)),
    );
  }

  /** The steps of this episode so far. */
  get trajectory(): readonly TrajectoryStep<A, O>[] {
    return this.#steps;
  }

  override forward(action: A, observation: O, context: ScoreContext): MaybePromise<number> {
    this.#record(action, observation);
    if ((observation as { done?: unknown } | null)?.done !== true) return this.#intermediateReward;
    const steps = this.#steps;
    const keep = (score: number): number => {
      // A score that arrives after a reset belongs to the previous episode.
      if (this.#steps === steps && Number.isFinite(score)) this.#final = score;
      return score;
    };
    const score = this.scoreTrajectory(steps, context);
    return isThenable(score) ? score.then(keep) : keep(score);
  }

  /** Calls `next` with the score of the episode, computed now if the episode is not done or was not scored. */
  protected withFinalScore<T>(next: (score: number) => T): MaybePromise<T> {
    const score = this.#final ?? this.#scoreAfterwards();
    return isThenable(score) ? score.then(next) : next(score);
  }

  /** Converts errors itself, because it does not run within `score`. */
  #scoreAfterwards(): MaybePromise<number> {
    const check = (score: number): number => {
      if (Number.isFinite(score)) return score;
      throw notFinite(this, score);
    };
    const fail = (error: unknown): never => {
      throw failureOf(this, error);
    };
    try {
      const score = this.scoreTrajectory(this.#steps, {});
      return isThenable(score) ? score.then(check).then(undefined, fail) : check(score);
    } catch (error) {
      return fail(error);
    }
  }

  protected override skipped(action: A, observation: O): void {
    this.#record(action, observation);
  }

  protected override clear(): void {
    this.#steps = [];
    this.#final = undefined;
  }

  protected override saveState(): Record<string, unknown> {
    return { intermediateReward: this.#intermediateReward, trajectory: this.#steps };
  }

  protected override loadState({ intermediateReward, trajectory }: Readonly<Record<string, unknown>>): void {
    if (!Array.isArray(trajectory)) throw new TypeError("the trajectory must be a list");
    this.#intermediateReward = checkReward(intermediateReward);
    this.#steps = trajectory as TrajectoryStep<A, O>[];
    this.#final = undefined;
  }

  #record(action: A, observation: O): void {
    if (this.#steps.length >= this.#maxSteps) {
      throw new EnvironmentError(`the episode has more than ${this.#maxSteps} steps: end it earlier or raise maxSteps`);
    }
    // Environments may later change the objects that they returned.
    this.#steps.push({ action: snapshot(action), observation: snapshot(observation) });
    this.#final = undefined;
  }
}

function checkReward(value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new RangeError(`intermediateReward must be a finite number, not ${String(value)}.`);
}
