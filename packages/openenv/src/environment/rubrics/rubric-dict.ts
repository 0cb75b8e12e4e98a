import { type NamedRubric, Rubric } from "./rubric.js";

/** Children by key, named by it. It has no score of its own: its parent asks the one it wants. */
export class RubricDict<R extends Rubric = Rubric> extends Rubric implements Iterable<[string, R]> {
  readonly #items = new Map<string, R>();

  /** @throws RangeError for a key that cannot be part of a path. */
  constructor(items: Readonly<Record<string, R>> = {}) {
    super();
    for (const [key, item] of Object.entries(items)) this.set(key, item);
  }

  get size(): number {
    return this.#items.size;
  }

  has(key: string): boolean {
    return this.#items.has(key);
  }

  /** @throws RangeError that names the keys there are. */
  get(key: string): R {
    const item = this.#items.get(key);
    if (item !== undefined) return item;
    const keys = [...this.#items.keys()].join(", ") || "none";
    throw new RangeError(`There is no rubric for "${key}"; there are: ${keys}.`);
  }

  /** @throws RangeError for a key that cannot be part of a path. */
  set(key: string, item: R): void {
    if (key === "" || key.includes(".")) {
      throw new RangeError(
        `A rubric's key must not be empty or have a "." in it: "${key}" would be no part of a path.`,
      );
    }
    this.#items.set(key, item);
  }

  [Symbol.iterator](): Iterator<[string, R]> {
    return this.#items.entries();
  }

  override forward(): never {
    throw new TypeError("A RubricDict has no score of its own: ask one of its items, as dict.get(key).score(…).");
  }

  override namedChildren(): NamedRubric[] {
    return [...this.#items, ...super.namedChildren()];
  }
}
