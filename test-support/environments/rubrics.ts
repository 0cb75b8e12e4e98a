import { Rubric } from "../../packages/openenv/src/environment/rubrics/rubric.js";

/** Returns a fixed score, or the result of a function of each step; counts its calls. */
export class Fixed extends Rubric<unknown, unknown> {
  asked = 0;
  readonly #score: number | (() => number | Promise<number>);

  constructor(score: number | (() => number | Promise<number>)) {
    super();
    this.#score = score;
  }

  override forward(): number | Promise<number> {
    this.asked++;
    return typeof this.#score === "number" ? this.#score : this.#score();
  }
}

export const late = (score: number) => new Fixed(async () => score);
