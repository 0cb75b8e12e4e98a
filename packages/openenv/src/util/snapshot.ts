/**
 * A copy of plain JSON that shares nothing with the original: lists, objects and bytes. For what is held until later,
 * while its owner may go on to change it. Objects of other kinds, such as dates, stay what they are.
 */
export function snapshot<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return copyList(value) as T;
  // By its own class an array of bytes knows how JSON writes it.
  if (value instanceof Uint8Array)
    return Object.setPrototypeOf(new Uint8Array(value), Object.getPrototypeOf(value)) as T;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    // Assigning to it would set the prototype instead of a member.
    if (key === "__proto__") Object.defineProperty(copy, key, { value: snapshot(member), enumerable: true });
    else copy[key] = snapshot(member);
  }
  return copy as T;
}

function copyList(list: unknown[]): unknown[] {
  const flat = list.every((item) => typeof item !== "object" || item === null);
  return flat ? list.slice() : list.map(snapshot);
}
