/** How many entries an object or a list has. */
export function sizeOf(value: object): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

/** The first entries; of a list of millions no more than those are made. */
export function firstEntries(value: object, most: number): [key: string, value: unknown][] {
  return Object.entries(Array.isArray(value) ? value.slice(0, most) : value).slice(0, most);
}
