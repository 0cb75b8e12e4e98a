import { isThenable } from "../../util/async/thenable.js";
import type { MaybePromise } from "../../util/types.js";
import { Rubric, type ScoreContext } from "./rubric.js";

/** Returns its child's score if that is at least the threshold, otherwise 0. */
export class Gate<A = unknown, O = unknown> extends Rubric<A, O> {
  readonly rubric: Rubric<A, O>;
  #threshold: number;

  /** @throws RangeError when the threshold is not a finite number. */
  constructor(rubric: Rubric<A, O>, threshold = 1) {
    super();
    this.rubric = rubric;
    this.#threshold = checkThreshold(threshold);
  }

  get threshold(): number {
    return this.#threshold;
  }

  override forward(action: A, observation: O, context: ScoreContext): MaybePromise<number> {
    const score = this.rubric.score(action, observation, context);
    return isThenable(score) ? score.then((value) => this.#pass(value)) : this.#pass(score);
  }

  protected override saveState(): Record<string, unknown> {
    return { threshold: this.#threshold };
  }

  protected override loadState({ threshold }: Readonly<Record<string, unknown>>): void {
    this.#threshold = checkThreshold(threshold);
  }

  #pass(score: number): number {
    return score < this.#threshold ? 0 : score;
  }
}

function checkThreshold(value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new RangeError(`A gate's threshold must be a finite number, not ${String(value)}.`);
}
