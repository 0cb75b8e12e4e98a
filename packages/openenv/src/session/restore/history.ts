import { stringifyJson } from "../../protocol/codec/json.js";
import type { SessionImage } from "../calls/session-event.js";

/** The states of a session with snapshots after its last events. */
export class History {
  /** States by the number of the event, the oldest first. */
  readonly #kept = new Map<number, { image: SessionImage; size: number }>();
  #size = 0;

  get events(): number[] {
    return [...this.#kept.keys()];
  }

  /** Keeps a state, and drops the oldest beyond the limits. */
  add(image: SessionImage, limits: { count: number; bytes: number }): void {
    const size = sizeOf(image);
    this.#kept.set(image.event, { image, size });
    this.#size += size;
    for (const [event, { size: freed }] of this.#kept) {
      if (this.#kept.size <= limits.count && this.#size <= limits.bytes) break;
      this.#kept.delete(event);
      this.#size -= freed;
    }
  }

  at(event: number): SessionImage | undefined {
    return this.#kept.get(event)?.image;
  }

  clear(): void {
    this.#kept.clear();
    this.#size = 0;
  }
}

function sizeOf({ restore, ...rest }: SessionImage): number {
  const snapshot = "snapshot" in restore ? restore.snapshot.length : 0;
  return snapshot + stringifyJson({ ...rest, more: "more" in restore ? restore.more : undefined }).length;
}
