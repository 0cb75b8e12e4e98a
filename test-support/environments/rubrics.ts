import { Rubric } from "../../packages/openenv/src/environment/rubrics/rubric.js";

/** Gives one score, or what a function makes of each step; counts how often it was asked. */
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
