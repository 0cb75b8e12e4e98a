/**
 * What the first occurrence of a key counts in addition. A parser interns each distinct key and gives an object
 * with many keys a hash table, and validation looks it up again: reading one takes as long as a dozen numbers.
 */
export const NEW_KEY_ITEMS = 11;

/** Random, so that peers cannot choose keys whose hashes collide. */
const SEED = Math.floor(Math.random() * 2 ** 32) | 0;
const FACTOR = Math.floor(Math.random() * 2 ** 32) | 1;

/** The 32-bit hashes of the keys of one message. */
export class KeySet {
  readonly #keys = new Set<number>();

  /** The additional count of the key in `text` from `start` to `end`: 0 when it has occurred before. */
  countText(text: string, start: number, end: number): number {
    let hash = SEED;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FACTOR);
    return this.#add(hash);
  }

  /** Does the same as `countText` for UTF-8 bytes. */
  countBytes(bytes: Uint8Array, start: number, end: number): number {
    let hash = SEED;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), FACTOR);
    return this.#add(hash);
  }

  #add(hash: number): number {
    if (this.#keys.has(hash)) return 0;
    this.#keys.add(hash);
    return NEW_KEY_ITEMS;
  }
}
