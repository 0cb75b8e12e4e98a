import { type NamedRubric, Rubric } from "./rubric.js";

/** Children with keys as names. It has no score itself: the parent calls the child that it needs. */
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

  /** @throws RangeError listing the known keys. */
  get(key: string): R {
    const item = this.#items.get(key);
    if (item !== undefined) return item;
    const keys = [...this.#items.keys()].join(", ") || "none";
    throw new RangeError(`No rubric with the key "${key}"; known keys: ${keys}.`);
  }

  /** @throws RangeError for a key that cannot be part of a path. */
  set(key: string, item: R): void {
    if (key === "" || key.includes(".")) {
      throw new RangeError(`A rubric's key must not be empty or contain ".", got "${key}".`);
    }
    this.#items.set(key, item);
  }

  [Symbol.iterator](): Iterator<[string, R]> {
    return this.#items.entries();
  }

  override forward(): never {
    throw new TypeError("A RubricDict has no score itself: score one of its items, as in dict.get(key).score(…).");
  }

  override namedChildren(): NamedRubric[] {
    return [...this.#items, ...super.namedChildren()];
  }
}
