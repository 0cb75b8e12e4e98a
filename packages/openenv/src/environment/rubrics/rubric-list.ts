import { numbered } from "./numbered.js";
import { type NamedRubric, Rubric } from "./rubric.js";

/**
 * A list of children, named `rubric_0`, `rubric_1`, …. It has no score itself: the parent calls the child that it
 * needs.
 */
export class RubricList<R extends Rubric = Rubric> extends Rubric implements Iterable<R> {
  readonly #items: R[];

  constructor(items: Iterable<R> = []) {
    super();
    this.#items = [...items];
  }

  get length(): number {
    return this.#items.length;
  }

  /** The item at an index; negative indexes count from the end. @throws RangeError when the index is out of range. */
  at(index: number): R {
    const item = this.#items.at(index);
    if (item === undefined) throw new RangeError(`No rubric at index ${index}; the list has ${this.length}.`);
    return item;
  }

  append(...items: R[]): void {
    this.#items.push(...items);
  }

  [Symbol.iterator](): Iterator<R> {
    return this.#items.values();
  }

  override forward(): never {
    throw new TypeError("A RubricList has no score itself: score one of its items, or use a WeightedSum.");
  }

  override namedChildren(): NamedRubric[] {
    return [...numbered(this.#items), ...super.namedChildren()];
  }
}
