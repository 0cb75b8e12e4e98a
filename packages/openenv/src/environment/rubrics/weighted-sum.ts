import { isThenable } from "../../util/async/thenable.js";
import type { MaybePromise } from "../../util/types.js";
import { numbered } from "./numbered.js";
import { type NamedRubric, Rubric, type ScoreContext } from "./rubric.js";
import type { Named } from "./rubric-tree.js";

/** Allowed deviation of the sum of weights from 1, for example with thirds. */
const TOLERANCE = 1e-6;

/**
 * The weighted sum of its children's scores. Async children run in parallel. If one fails, the sum fails after all have
 * finished, so that no child runs during the next step.
 */
export class WeightedSum<A = unknown, O = unknown> extends Rubric<A, O> {
  readonly #children: readonly Named<Rubric<A, O>>[];
  #weights: readonly number[];

  /**
   * Accepts two lists (children are named `rubric_0`, `rubric_1`, …) or two records with the same keys.
   * @throws RangeError when weights and rubrics do not match, or the weights do not sum to 1.
   */
  constructor(rubrics: readonly Rubric<A, O>[], weights: readonly number[]);
  constructor(rubrics: Readonly<Record<string, Rubric<A, O>>>, weights: Readonly<Record<string, number>>);
  constructor(
    rubrics: readonly Rubric<A, O>[] | Readonly<Record<string, Rubric<A, O>>>,
    weights: readonly number[] | Readonly<Record<string, number>>,
  ) {
    super();
    this.#children = Array.isArray(rubrics) ? numbered<Rubric<A, O>>(rubrics) : Object.entries(rubrics);
    const names = this.#children.map(([name]) => name);
    this.#weights = checkWeights(Array.isArray(weights) ? weights : inOrder(names, weights), names);
  }

  /** The weights by the names of the children. */
  get weights(): Record<string, number> {
    return Object.fromEntries(this.#children.map(([name], index) => [name, this.#weights[index] as number]));
  }

  override forward(action: A, observation: O, context: ScoreContext): MaybePromise<number> {
    const scores: MaybePromise<number>[] = [];
    let pending = false;
    for (const [, rubric] of this.#children) {
      try {
        const score = rubric.score(action, observation, context);
        pending ||= isThenable(score);
        scores.push(score);
      } catch (error) {
        if (!pending) throw error;
        scores.push(Promise.reject(error));
      }
    }
    return pending ? settle(scores).then((values) => this.#add(values)) : this.#add(scores as number[]);
  }

  override namedChildren(): NamedRubric[] {
    return [...this.#children, ...super.namedChildren()];
  }

  protected override saveState(): Record<string, unknown> {
    return { weights: this.#weights };
  }

  protected override loadState({ weights }: Readonly<Record<string, unknown>>): void {
    const names = this.#children.map(([name]) => name);
    this.#weights = checkWeights(Array.isArray(weights) ? weights : [], names);
  }

  #add(scores: readonly number[]): number {
    let total = 0;
    for (let i = 0; i < scores.length; i++) total += (scores[i] as number) * (this.#weights[i] as number);
    return total;
  }
}

async function settle(scores: MaybePromise<number>[]): Promise<number[]> {
  return (await Promise.allSettled(scores)).map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

function inOrder(names: readonly string[], weights: object): unknown[] {
  const unknown = Object.keys(weights).filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new RangeError(`Unknown rubric in weights: ${unknown.join(", ")}.`);
  return names.map((name) => (weights as Record<string, unknown>)[name]);
}

function checkWeights(weights: readonly unknown[], names: readonly string[]): number[] {
  if (weights.length !== names.length) {
    throw new RangeError(`Got ${weights.length} weights for ${names.length} rubrics: give each rubric one weight.`);
  }
  let sum = 0;
  for (const [index, weight] of weights.entries()) {
    if (typeof weight !== "number" || !Number.isFinite(weight)) {
      throw new RangeError(`The weight of ${names[index]} must be a finite number, not ${String(weight)}.`);
    }
    sum += weight;
  }
  if (Math.abs(sum - 1) <= TOLERANCE) return [...(weights as number[])];
  throw new RangeError(`Weights must sum to 1, got a sum of ${sum}: ${weights.join(", ")}.`);
}
