import { numbered } from "./numbered.js";
import { type NamedRubric, Rubric } from "./rubric.js";

/** Children in a list, named `rubric_0`, `rubric_1`, …. It has no score of its own: its parent asks the one it wants. */
export class RubricList<R extends Rubric = Rubric> extends Rubric implements Iterable<R> {
  readonly #items: R[];

  constructor(items: Iterable<R> = []) {
    super();
    this.#items = [...items];
  }

  get length(): number {
    return this.#items.length;
  }

  /** The item at an index; negative ones count from the end. @throws RangeError when there is none. */
  at(index: number): R {
    const item = this.#items.at(index);
    if (item === undefined) throw new RangeError(`This list has ${this.length} rubrics and none at ${index}.`);
    return item;
  }

  append(...items: R[]): void {
    this.#items.push(...items);
  }

  [Symbol.iterator](): Iterator<R> {
    return this.#items.values();
  }

  override forward(): never {
    throw new TypeError("A RubricList has no score of its own: ask one of its items, or put them into a WeightedSum.");
  }

  override namedChildren(): NamedRubric[] {
    return [...numbered(this.#items), ...super.namedChildren()];
  }
}
