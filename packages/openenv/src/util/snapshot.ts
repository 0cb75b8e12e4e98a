/**
 * Returns a deep copy of plain JSON: arrays, objects and bytes. For values that are kept while their owner may still
 * change them. Other objects, such as dates, are not copied.
 */
export function snapshot<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return copyList(value) as T;
  // The class of a byte array determines its JSON.
  if (value instanceof Uint8Array)
    return Object.setPrototypeOf(new Uint8Array(value), Object.getPrototypeOf(value)) as T;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  // Spreading makes `__proto__` an own property, which an assignment then sets like any other.
  const copy = { ...(value as Record<string, unknown>) };
  for (const key in copy) {
    const member = copy[key];
    if (typeof member === "object" && member !== null) copy[key] = snapshot(member);
  }
  return copy as T;
}

function copyList(list: unknown[]): unknown[] {
  const flat = list.every((item) => typeof item !== "object" || item === null);
  return flat ? list.slice() : list.map(snapshot);
}
