/** The values that are not null, by their index. @throws TypeError unless there is one for each of `size` sessions. */
export function byIndex<V>(values: readonly (V | null)[], size: number): Map<number, V> {
  if (values.length !== size) {
    throw new TypeError(`There are ${size} sessions, and ${values.length} values for them: give one each, or null.`);
  }
  const given = new Map<number, V>();
  for (const [index, value] of values.entries()) if (value !== null) given.set(index, value);
  return given;
}

/** What `reset` was given, by index: the same for all `size` sessions, or each its own. */
export function resetsByIndex<V extends object>(given: V | readonly (V | null)[], size: number): Map<number, V> {
  return byIndex(Array.isArray(given) ? (given as (V | null)[]) : Array<V>(size).fill(given as V), size);
}

/** The results in the order of the sessions, null for one that has none. */
export function inOrder<R>(results: ReadonlyMap<number, R>, size: number): (R | null)[] {
  return Array.from({ length: size }, (_, index) => results.get(index) ?? null);
}
