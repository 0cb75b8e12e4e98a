/** The number of entries of an object or a list. */
export function sizeOf(value: object): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

/** The first entries; does not create the others of a long list. */
export function firstEntries(value: object, most: number): [key: string, value: unknown][] {
  return Object.entries(Array.isArray(value) ? value.slice(0, most) : value).slice(0, most);
}
