import { has } from "../../contract/zod-tree.js";
import { setOwn } from "../json-safe.js";

/** Changes a copy of a value: containers on the path are copied, each once. */
export class CopyOnWrite {
  value: unknown;
  readonly #owned = new Set<object>();

  constructor(value: unknown) {
    this.value = value;
  }

  /** Returns false and changes nothing when the path does not exist. */
  set(path: readonly PropertyKey[], value: unknown): boolean {
    if (path.length === 0) {
      this.value = value;
      return true;
    }
    if (!reaches(this.value, path)) return false;
    let container = this.#own(this.value as object);
    this.value = container;
    for (const key of path.slice(0, -1)) {
      const inner = this.#own((container as Record<PropertyKey, object>)[key] as object);
      setOwn(container, key, inner);
      container = inner;
    }
    setOwn(container, path[path.length - 1] as PropertyKey, value);
    return true;
  }

  #own(container: object): object {
    if (this.#owned.has(container)) return container;
    const copy = Array.isArray(container) ? container.slice() : { ...container };
    this.#owned.add(copy);
    return copy;
  }
}

function reaches(value: unknown, path: readonly PropertyKey[]): boolean {
  let current = value;
  for (const key of path) {
    if (!has(current, key)) return false;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return true;
}
