import { stringifyJson } from "../../protocol/codec/json.js";
import type { SessionImage } from "./session-event.js";

/** A state without a snapshot of bytes, as JSON. */
interface Kept {
  text: string;
  bytes: Uint8Array | undefined;
  size: number;
}

/** The states of a session with snapshots after its last events. */
export class History {
  /** By the number of the event, the oldest first. */
  readonly #kept = new Map<number, Kept>();
  #size = 0;

  get events(): number[] {
    return [...this.#kept.keys()];
  }

  /** Keeps a state, and drops the oldest beyond the limits. */
  add(image: SessionImage, limits: { count: number; bytes: number }): void {
    const { restore } = image;
    const bytes = "snapshot" in restore && restore.snapshot instanceof Uint8Array ? restore.snapshot : undefined;
    const text = stringifyJson(bytes === undefined ? image : { ...image, restore: { ...restore, snapshot: null } });
    const size = text.length + (bytes?.length ?? 0);
    this.#kept.set(image.event, { text, bytes, size });
    this.#size += size;
    for (const [event, { size: freed }] of this.#kept) {
      if (this.#kept.size <= limits.count && this.#size <= limits.bytes) break;
      this.#kept.delete(event);
      this.#size -= freed;
    }
  }

  at(event: number): SessionImage | undefined {
    const kept = this.#kept.get(event);
    if (kept === undefined) return undefined;
    const image = JSON.parse(kept.text) as SessionImage;
    return kept.bytes === undefined ? image : { ...image, restore: { ...image.restore, snapshot: kept.bytes } };
  }

  clear(): void {
    this.#kept.clear();
    this.#size = 0;
  }
}
