/**
 * What another key counts in addition. A reader looks up each different key among all texts of the process and gives an
 * object with many its own table, so that it costs several times what a value does. With it a key and its value count
 * no more than the characters they take at least (`"":0,`).
 */
export const NEW_KEY_ITEMS = 3;

/** Unknown to peers, so that they cannot choose keys that are taken for each other. */
const SEED = Math.floor(Math.random() * 2 ** 32) | 0;
const FACTOR = Math.floor(Math.random() * 2 ** 32) | 1;

/** The keys of one message, as numbers of 32 bits. */
export class KeySet {
  readonly #keys = new Set<number>();

  /** What the characters of a text from `start` to `end` count as a key, in addition to every key's 1. */
  countText(text: string, start: number, end: number): number {
    let hash = SEED;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FACTOR);
    return this.#add(hash);
  }

  /** The same of bytes. */
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
