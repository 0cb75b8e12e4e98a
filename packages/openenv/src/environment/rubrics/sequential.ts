import { isThenable } from "../../util/async/thenable.js";
import type { MaybePromise } from "../../util/types.js";
import { numbered } from "./numbered.js";
import { type NamedRubric, Rubric, type ScoreContext } from "./rubric.js";

/**
 * Runs its children in order and returns the score of the last one; stops at a score of 0. Returns 1 without children.
 * Children are named `rubric_0`, `rubric_1`, …
 */
export class Sequential<A = unknown, O = unknown> extends Rubric<A, O> {
  readonly #children: readonly Rubric<A, O>[];

  constructor(...children: Rubric<A, O>[]) {
    super();
    this.#children = children;
  }

  override forward(action: A, observation: O, context: ScoreContext): MaybePromise<number> {
    const ask = (from: number, previous: number): MaybePromise<number> => {
      let score = previous;
      for (let i = from; i < this.#children.length && score !== 0; i++) {
        const given = (this.#children[i] as Rubric<A, O>).score(action, observation, context);
        if (isThenable(given)) return given.then((value) => ask(i + 1, value));
        score = given;
      }
      return score;
    };
    return ask(0, 1);
  }

  override namedChildren(): NamedRubric[] {
    return [...numbered(this.#children), ...super.namedChildren()];
  }
}
