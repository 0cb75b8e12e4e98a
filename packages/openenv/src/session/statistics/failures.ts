import type { ServerViewError, ServerViewFailure } from "../../protocol/web.js";

type Failure = Omit<ServerViewFailure, "worker">;

/** Different failures that are counted; further ones are counted together. */
const MAX_FAILURES = 100;
const OTHERS = "Other messages";
const MINUTES = 60;

/** Counts failures that differ only by numbers and names, and all of them by minute. */
export class Failures {
  readonly #all = new Map<string, Failure>();
  readonly #minutes = new Map<number, number>();

  add({ at, code, message, session_id, step }: Omit<ServerViewError, "worker">): void {
    const pattern = patternOf(message);
    const known = this.#all.has(`${code} ${pattern}`) || this.#all.size < MAX_FAILURES;
    const shown = known ? pattern : OTHERS;
    const key = `${code} ${shown}`;
    const count = (this.#all.get(key)?.count ?? 0) + 1;
    this.#all.set(key, { code, message: shown, count, at, session_id, step, example: message });
    const minute = Math.floor(at / 60);
    this.#minutes.set(minute, (this.#minutes.get(minute) ?? 0) + 1);
    const [oldest = minute] = this.#minutes.keys();
    if (oldest <= minute - MINUTES) this.#minutes.delete(oldest);
  }

  get all(): readonly Failure[] {
    return [...this.#all.values()];
  }

  /** The number of failures in each of the last sixty minutes, the oldest first. */
  byMinute(now = Date.now()): number[] {
    const first = Math.floor(now / 60_000) - MINUTES + 1;
    return Array.from({ length: MINUTES }, (_, at) => this.#minutes.get(first + at) ?? 0);
  }
}

/** A message without what differs each time: quoted names, paths, ids and numbers. */
export function patternOf(message: string): string {
  return message
    .replace(/"[^"\n]*"|`[^`\n]*`|“[^”\n]*”|(?<!\w)'[^'\n]*'(?!\w)/g, "“…”")
    .replace(/(?:\/[\w.-]+){2,}/g, "…")
    .replace(/[\w-]{8,}/g, (word) => (/\d/.test(word) ? "…" : word))
    .replace(/\d+(?:[.,]\d+)*/g, "#");
}
